/** The program that says how many workers the load wants: its pods, and what they may do. */
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import {
  CONTAINER_SECURITY,
  frontEndSelector,
  KSERVE_PORT,
  METRICS_PORT,
  metaOf,
  POD_SECURITY,
  type PodFiles,
  podFilesOf,
  RUNTIME_COMMAND,
  SCALER_PORT,
  scalerName,
  selectorOf,
} from "./objects.ts";

/** The scaler, which reads the load of the front ends, and the Service where KEDA asks it. */
export function scalerObjects(options: ManifestOptions): KubernetesObject[] {
  const name = scalerName(options);
  const selector = selectorOf(options, "scaler");
  const metadata = metaOf(options, name, "scaler");
  const { volumes } = scalerFiles(options);
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: {
            ...POD_SECURITY,
            automountServiceAccountToken: true,
            serviceAccountName: name,
            containers: [scalerContainer(options)],
            ...(volumes.length === 0 ? {} : { volumes }),
          },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector, ports: [{ name: "grpc", port: SCALER_PORT, targetPort: "grpc" }] },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metaOf(options, loadName(options), "front-end"),
      spec: {
        clusterIP: "None",
        // One that is full is not ready, and has the most load.
        publishNotReadyAddresses: true,
        selector: frontEndSelector(options),
        ports: [{ name: "load", port: loadPort(options) }],
      },
    },
  ];
}

function scalerContainer(options: ManifestOptions): object {
  const { policy, policyMounts, env } = scalerFiles(options);
  return {
    name: "scaler",
    image: options.image,
    command: [...RUNTIME_COMMAND, "scaler"],
    args: [
      ...["--policy", policy, "--grpc", `0.0.0.0:${SCALER_PORT}`],
      ...["--metrics", `dns+http://${loadName(options)}:${loadPort(options)}/metrics`],
    ],
    ...(env.length === 0 ? {} : { env }),
    ports: [{ name: "grpc", containerPort: SCALER_PORT }],
    securityContext: CONTAINER_SECURITY,
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
    readinessProbe: { tcpSocket: { port: SCALER_PORT } },
    ...(policyMounts.length === 0 ? {} : { volumeMounts: policyMounts }),
  };
}

/** It runs no model, and meets nobody. */
function scalerFiles(options: ManifestOptions): PodFiles {
  return podFilesOf({ ...options, modelsClaim: null, cluster: null });
}

/** Of the service without an address of its own: its name has that of every front end. */
function loadName({ name }: ManifestOptions): string {
  return `${name}-load`;
}

function loadPort({ isKserve }: ManifestOptions): number {
  return isKserve ? KSERVE_PORT : METRICS_PORT;
}

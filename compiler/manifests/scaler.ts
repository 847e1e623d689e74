/** The program that says how many workers the load wants, what it may do, and what KEDA is told. */
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
  workersName,
} from "./objects.ts";
import type { PlannedPool } from "./workers.ts";

const RBAC = "rbac.authorization.k8s.io";
/** A pod that leaves is not needed any more: the plan has waited already. */
const NO_WAIT = { stabilizationWindowSeconds: 0 };
/** Time between two requests of KEDA, s. */
const POLLING_SECONDS = 30;
/** After so many answers that fail, the pool is as large as it can be. */
const FAILURES = 3;

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

/** What the scaler may do to the workers, and nothing more. @param pools that are scaled. */
export function rbacObjects(
  options: ManifestOptions,
  pools: readonly PlannedPool[],
): KubernetesObject[] {
  const name = scalerName(options);
  const metadata = metaOf(options, name, "scaler");
  const { namespace } = options;
  const sets = pools.map(({ pool }) => workersName(options, pool.name));
  // The tolerance of the autoscaler counts from the replicas that there are.
  const scales = { apiGroups: ["apps"], resources: ["statefulsets/scale"], resourceNames: sets };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: [{ ...scales, verbs: ["get"] }] },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, ...(namespace === null ? {} : { namespace }) }],
    },
  ];
}

/** What KEDA is told: a ScaledObject for each pool. @param pools whose plans differ. */
export function scaledObjects(
  options: ManifestOptions,
  pools: readonly PlannedPool[],
): KubernetesObject[] {
  return pools.map((pool) => scaledObject(options, pool));
}

/**
 * KEDA polls a pool at 0, where the scaler's stream is quicker. From 1 on the autoscaler asks the
 * scaler itself, every 15 s; `useCachedMetrics: true` would have it see what was polled last.
 */
function scaledObject(options: ManifestOptions, { pool, least }: PlannedPool): KubernetesObject {
  const most = pool.workers;
  const name = workersName(options, pool.name);
  const { namespace } = options;
  const host = namespace === null ? scalerName(options) : `${scalerName(options)}.${namespace}`;
  return {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: metaOf(options, name, "worker", pool.name),
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "StatefulSet", name },
      minReplicaCount: least,
      maxReplicaCount: most,
      pollingInterval: POLLING_SECONDS,
      fallback: { failureThreshold: FAILURES, replicas: most },
      advanced: {
        horizontalPodAutoscalerConfig: {
          behavior: {
            scaleUp: {
              ...NO_WAIT,
              // All that the plan wants at once.
              policies: [{ type: "Pods", value: most, periodSeconds: 15 }],
            },
            scaleDown: {
              ...NO_WAIT,
              policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
            },
          },
        },
      },
      triggers: [
        {
          type: "external-push",
          metricType: "AverageValue",
          useCachedMetrics: false,
          metadata: {
            scalerAddress: `${host}:${SCALER_PORT}`,
            pool: pool.name,
            // The autoscaler ignores a difference of a tenth: the scaler reads the replicas of the
            // set and asks for enough more.
            tolerance: "0.1",
            statefulSet: name,
          },
        },
      ],
    },
  };
}

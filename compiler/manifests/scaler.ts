/**
 * Objects of the scaler, which computes the number of workers for the load: program, permissions,
 * and KEDA configuration.
 */
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
/** A plan has already waited before it removes a pod. */
const NO_WAIT = { stabilizationWindowSeconds: 0 };
/** Polling interval of KEDA, s. */
const POLLING_SECONDS = 30;
/** Failed polls after which the pool is scaled to its maximum. */
const FAILURES = 3;

/** Builds the scaler, which reads the load of the front ends, and the Service that KEDA calls. */
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
        // A front end with a full queue is not ready, but its load counts most.
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

/** The scaler runs no models and is not a cluster member. */
function scalerFiles(options: ManifestOptions): PodFiles {
  return podFilesOf({ ...options, modelsClaim: null, cluster: null });
}

/** Name of the headless service, which resolves to every front end. */
function loadName({ name }: ManifestOptions): string {
  return `${name}-load`;
}

function loadPort({ isKserve }: ManifestOptions): number {
  return isKserve ? KSERVE_PORT : METRICS_PORT;
}

/** Builds the scaler's minimal permissions. @param pools that are scaled. */
export function rbacObjects(
  options: ManifestOptions,
  pools: readonly PlannedPool[],
): KubernetesObject[] {
  const name = scalerName(options);
  const metadata = metaOf(options, name, "scaler");
  const { namespace } = options;
  const sets = pools.map(({ pool }) => workersName(options, pool.name));
  // The autoscaler's tolerance is relative to the current replicas, which the scaler reads.
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

/** Builds a ScaledObject for each pool. @param pools whose plans differ. */
export function scaledObjects(
  options: ManifestOptions,
  pools: readonly PlannedPool[],
): KubernetesObject[] {
  return pools.map((pool) => scaledObject(options, pool));
}

/**
 * KEDA polls a pool at 0 replicas, where the scaler's stream is faster. From 1 on the autoscaler
 * queries the scaler every 15 s; with `useCachedMetrics: true` it would read the last polled value.
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
              // Starts all workers of the plan at once.
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
            // The autoscaler ignores a difference of a tenth, so the scaler reads the replicas of
            // the set and requests enough more.
            tolerance: "0.1",
            statefulSet: name,
          },
        },
      ],
    },
  };
}

/**
 * Builds the workers of a pool: a StatefulSet, whose pods have predictable names for the front end.
 */
import {
  isNvidia,
  type Pool,
  type Provider,
  parseDevice,
} from "stratagem-runtime/internal/bundle/schema";
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import {
  CONTAINER_SECURITY,
  HTTP_PORT,
  metaOf,
  POD_NAME,
  POD_SECURITY,
  podFilesOf,
  probesOf,
  RUNTIME_COMMAND,
  STATE,
  selectorOf,
  workersName,
} from "./objects.ts";

/** Exceeds the time of a batch and its answer. */
const GRACE_SECONDS = 40;

export interface PlannedPool {
  readonly pool: Pool;
  /** Fewest workers in the plan of any level, at least 1. */
  readonly least: number;
  /** True if their number follows the load; otherwise the pool is complete. */
  readonly isScaled: boolean;
}

/** Returns the URLs of all workers that a pool may have, including those that are not running. */
export function workerUrls(options: ManifestOptions, pool: Pool): string[] {
  const name = workersName(options, pool.name);
  return Array.from({ length: pool.workers }, (_, index) => {
    return `http://${name}-${index}.${name}:${HTTP_PORT}`;
  });
}

/**
 * Builds the pods, the headless service that names them, the disruption budget, and the network
 * policy. With a scaler the number of replicas is left out, so that applying the file again does
 * not change it. @param pools all pools, whose workers are peers.
 */
export function workerObjects(
  options: ManifestOptions,
  { pool, isScaled }: PlannedPool,
  pools: readonly Pool[],
): KubernetesObject[] {
  const name = workersName(options, pool.name);
  const selector = selectorOf(options, "worker", pool.name);
  const metadata = metaOf(options, name, "worker", pool.name);
  return [
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata,
      spec: {
        ...(isScaled ? {} : { replicas: pool.workers }),
        serviceName: name,
        podManagementPolicy: "Parallel",
        selector: { matchLabels: selector },
        template: { metadata: { labels: selector }, spec: podSpec(options, pool, pools, selector) },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        clusterIP: "None",
        // A worker that is loading its model needs its name already.
        publishNotReadyAddresses: true,
        selector,
        ports: [{ name: "http", port: HTTP_PORT, targetPort: "http" }],
      },
    },
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata,
      spec: { maxUnavailable: 1, selector: { matchLabels: selector } },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata,
      spec: {
        podSelector: { matchLabels: selector },
        policyTypes: ["Ingress"],
        ingress: [{ from: whoAsks(options), ports: [{ port: HTTP_PORT }] }],
      },
    },
  ];
}

/** Allows front ends, including KServe's with other labels, other workers, and Prometheus. */
function whoAsks(options: ManifestOptions): object[] {
  const { name } = options;
  const prometheus = { matchLabels: { "app.kubernetes.io/name": "prometheus" } };
  return [
    { podSelector: { matchLabels: { "app.kubernetes.io/instance": name } } },
    ...(options.isKserve
      ? [{ podSelector: { matchLabels: { "serving.kserve.io/inferenceservice": name } } }]
      : []),
    { namespaceSelector: {}, podSelector: prometheus },
  ];
}

function podSpec(
  options: ManifestOptions,
  pool: Pool,
  pools: readonly Pool[],
  selector: Readonly<Record<string, string>>,
): object {
  const { volumes } = podFilesOf(options);
  return {
    ...POD_SECURITY,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    // Spreads workers, so that a lost node or zone affects few workers of a pool.
    topologySpreadConstraints: ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map(
      (topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: selector },
      }),
    ),
    containers: [container(options, pool, pools)],
    ...(volumes.length === 0 ? {} : { volumes }),
  };
}

function container(options: ManifestOptions, pool: Pool, pools: readonly Pool[]): object {
  const { image, cluster, workerMemory } = options;
  const { policy, modelsArgs, modelMounts, policyMounts, env } = podFilesOf(options);
  const name = workersName(options, pool.name);
  const mounts = [...policyMounts, ...modelMounts];
  const cores = pool.cores ?? 1;
  const provider = providerOf(pool);
  const gpu = provider !== null && isNvidia(provider) ? { "nvidia.com/gpu": "1" } : {};
  const cpu = String(cores);
  return {
    name: "worker",
    image,
    command: [...RUNTIME_COMMAND, "worker"],
    args: [
      ...["--http", `0.0.0.0:${HTTP_PORT}`, "--name", "$(POD_NAME)", "--pool", pool.name],
      ...["--threads", cpu, ...(modelsArgs.length > 0 ? modelsArgs : ["--models", STATE])],
      ...(provider === null ? [] : ["--device", provider]),
      // Gives the worker the bundle's description of its models if both are local files.
      ...(options.policy === null && options.modelsClaim !== null ? ["--policy", policy] : []),
      ...(cluster === null
        ? ["--peers", pools.flatMap((one) => workerUrls(options, one)).join()]
        : ["--cluster", cluster, "--url", `http://$(POD_NAME).${name}:${HTTP_PORT}`]),
    ],
    env: [...env, POD_NAME],
    ports: [{ name: "http", containerPort: HTTP_PORT }],
    securityContext: CONTAINER_SECURITY,
    // The profiled number, as whole cores, so that nodes can assign exclusive ones.
    resources: {
      requests: { cpu, memory: workerMemory, ...gpu },
      limits: { cpu, memory: workerMemory, ...gpu },
    },
    ...probesOf(HTTP_PORT),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
}

/** Kubernetes assigns the device, so only the provider is used; null if the pool names none. */
function providerOf({ device }: Pool): Provider | null {
  return device === undefined ? null : (parseDevice(device)?.provider ?? null);
}

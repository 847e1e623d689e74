/** The workers of a pool: a StatefulSet, whose pods have names that the front end can list. */
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

/** Longer than a batch takes and its answer. */
const GRACE_SECONDS = 40;

export interface PlannedPool {
  readonly pool: Pool;
  /** Workers that the plan wants at the level that wants fewest, 1 at least. */
  readonly least: number;
  /** Whether their number follows the load; else all of the pool are there. */
  readonly isScaled: boolean;
}

/** URLs of all workers that a pool may have, those that are not up yet included. */
export function workerUrls(options: ManifestOptions, pool: Pool): string[] {
  const name = workersName(options, pool.name);
  return Array.from({ length: pool.workers }, (_, index) => {
    return `http://${name}-${index}.${name}:${HTTP_PORT}`;
  });
}

/**
 * The pods, the headless service that gives each its name, how few may be gone at a time, and who
 * may ask them. Where a scaler follows the load, their number is left to it: whoever applies the
 * file again does not change it.
 */
export function workerObjects(options: ManifestOptions, planned: PlannedPool): KubernetesObject[] {
  const { pool, isScaled } = planned;
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
        template: { metadata: { labels: selector }, spec: podSpec(options, pool, selector) },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        clusterIP: "None",
        // A worker that still loads its model is known by name already.
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

/** Front ends, KServe's of whatever labels included, other workers, and Prometheus. */
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
  selector: Readonly<Record<string, string>>,
): object {
  const { volumes } = podFilesOf(options);
  return {
    ...POD_SECURITY,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    // A node or a zone that is lost takes as few workers of a pool with it as can be.
    topologySpreadConstraints: ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map(
      (topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: selector },
      }),
    ),
    containers: [container(options, pool)],
    ...(volumes.length === 0 ? {} : { volumes }),
  };
}

function container(options: ManifestOptions, pool: Pool): object {
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
      // What the bundle says of its models, where both are files here.
      ...(options.policy === null && options.modelsClaim !== null ? ["--policy", policy] : []),
      ...(cluster === null
        ? []
        : ["--cluster", cluster, "--url", `http://$(POD_NAME).${name}:${HTTP_PORT}`]),
    ],
    env: [...env, POD_NAME],
    ports: [{ name: "http", containerPort: HTTP_PORT }],
    securityContext: CONTAINER_SECURITY,
    // As many as were profiled, and whole ones: nodes can then give each its own.
    resources: {
      requests: { cpu, memory: workerMemory, ...gpu },
      limits: { cpu, memory: workerMemory, ...gpu },
    },
    ...probesOf(HTTP_PORT),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
}

/** Which of its node's devices a pod gets is for Kubernetes to say; null for what nothing says. */
function providerOf({ device }: Pool): Provider | null {
  return device === undefined ? null : (parseDevice(device)?.provider ?? null);
}

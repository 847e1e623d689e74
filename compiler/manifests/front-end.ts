/**
 * Manifests of the front end, which decides and answers: a Deployment with its Service, or a KServe
 * InferenceService.
 */
import type { Pool } from "stratagem-runtime/internal/bundle/schema";
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import {
  CONTAINER_SECURITY,
  frontEndName,
  HTTP_PORT,
  KSERVE_PORT,
  METRICS_PORT,
  metaOf,
  POD_NAME,
  POD_SECURITY,
  podFilesOf,
  probesOf,
  selectorOf,
} from "./objects.ts";
import { workerUrls } from "./workers.ts";

/** One core for the deciding thread; the other for the protocol and the system. */
const RESOURCES = {
  requests: { cpu: "2", memory: "1Gi" },
  limits: { memory: "2Gi" },
} as const;
/** Exceeds the time until load balancers notice that it is not ready, plus its last answers. */
const DRAIN_DELAY = "5s";
const GRACE_SECONDS = 40;

/** @param pools of the bundle. */
export function frontEndObjects(
  options: ManifestOptions,
  pools: readonly Pool[],
): KubernetesObject[] {
  const name = frontEndName(options);
  const selector = selectorOf(options, "front-end");
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: metaOf(options, name, "front-end"),
      spec: {
        replicas: options.frontEnds,
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: {
            ...POD_SECURITY,
            terminationGracePeriodSeconds: GRACE_SECONDS,
            containers: [frontEndContainer(options, pools, DEPLOYMENT)],
            ...volumesOf(options),
          },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metaOf(options, name, "front-end"),
      spec: {
        selector,
        ports: [
          { name: "http", port: HTTP_PORT, targetPort: "http" },
          { name: "metrics", port: METRICS_PORT, targetPort: "metrics" },
        ],
      },
    },
  ];
}

/** Listeners of a front end, and the name of its container. */
interface FrontEndPlace {
  readonly container: string;
  readonly httpPort: number;
  /** Null if the request listener serves `/metrics`. */
  readonly metricsPort: number | null;
  /** Additional options for the host's protocol. */
  readonly flags: readonly string[];
}

const DEPLOYMENT: FrontEndPlace = {
  container: "serve",
  httpPort: HTTP_PORT,
  metricsPort: METRICS_PORT,
  flags: [],
};

/** KServe's names for the container and its port. */
const KSERVE: FrontEndPlace = {
  container: "kserve-container",
  httpPort: KSERVE_PORT,
  metricsPort: null,
  flags: ["--text-parameters"],
};

/**
 * Is named after the application if that is a DNS name, since clients of KServe name the model that
 * way. It does not scale: one front end has all workers, and several share them in a cluster.
 */
export function inferenceServiceObject(
  options: ManifestOptions,
  pools: readonly Pool[],
): KubernetesObject {
  const { frontEnds } = options;
  return {
    apiVersion: "serving.kserve.io/v1beta1",
    kind: "InferenceService",
    metadata: {
      ...metaOf(options, options.name, "front-end"),
      annotations: {
        // Knative would stop it when idle, and does not know the workers.
        "serving.kserve.io/deploymentMode": "RawDeployment",
        "serving.kserve.io/autoscalerClass": "none",
      },
    },
    spec: {
      predictor: {
        ...POD_SECURITY,
        minReplicas: frontEnds,
        maxReplicas: frontEnds,
        containers: [frontEndContainer(options, pools, KSERVE)],
        ...volumesOf(options),
      },
    },
  };
}

/** @param pools of the bundle. */
function frontEndContainer(
  options: ManifestOptions,
  pools: readonly Pool[],
  place: FrontEndPlace,
): object {
  const { policy, modelsArgs, policyMounts, modelMounts, env } = podFilesOf(options);
  const variables = [...env, ...(options.cluster === null ? [] : [POD_NAME])];
  const mounts = [...policyMounts, ...modelMounts];
  const { image } = options;
  const { container, httpPort, metricsPort, flags } = place;
  const metrics = { name: "metrics", containerPort: metricsPort };
  return {
    name: container,
    image,
    args: [
      ...["--policy", policy, ...modelsArgs, ...membersOf(options, pools)],
      ...["--http", `0.0.0.0:${httpPort}`],
      ...(metricsPort === null ? [] : ["--metrics", `0.0.0.0:${metricsPort}`]),
      ...["--limit", `drainDelay=${DRAIN_DELAY}`, ...flags],
    ],
    ...(variables.length === 0 ? {} : { env: variables }),
    ports: [
      metricsPort === null
        ? { containerPort: httpPort, protocol: "TCP" }
        : { name: "http", containerPort: httpPort },
      ...(metricsPort === null ? [] : [metrics]),
    ],
    securityContext: CONTAINER_SECURITY,
    resources: RESOURCES,
    ...probesOf(httpPort),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
}

/** Volumes of a front end's pod; left out if it has none. */
function volumesOf(options: ManifestOptions): { readonly volumes?: readonly object[] } {
  const { volumes } = podFilesOf(options);
  return volumes.length === 0 ? {} : { volumes };
}

/** Options for the workers: a fixed list, or the members of a cluster. */
function membersOf(options: ManifestOptions, pools: readonly Pool[]): string[] {
  const { cluster } = options;
  if (cluster !== null) return ["--cluster", cluster, "--front-end", "$(POD_NAME)"];
  return pools.flatMap((pool) => ["--workers", `${pool.name}=${workerUrls(options, pool).join()}`]);
}

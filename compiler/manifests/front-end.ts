/** The front end, which decides and answers: a Deployment and its Service, or hosted by KServe. */
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

/** It decides on one thread; the other core is for what the protocol and the system take. */
const RESOURCES = {
  requests: { cpu: "2", memory: "1Gi" },
  limits: { memory: "2Gi" },
} as const;
/** Longer than load balancers take to see that it is not ready, and than its last answers. */
const DRAIN_DELAY = "5s";
const GRACE_SECONDS = 40;

/** @param pools the bundle's. */
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

/** The listeners of a front end, and what its host calls its container. */
interface FrontEndPlace {
  readonly container: string;
  readonly httpPort: number;
  /** Null where `/metrics` is told by the listener of requests. */
  readonly metricsPort: number | null;
  /** What else the host asks of the protocol. */
  readonly flags: readonly string[];
}

const DEPLOYMENT: FrontEndPlace = {
  container: "serve",
  httpPort: HTTP_PORT,
  metricsPort: METRICS_PORT,
  flags: [],
};

/** KServe's name of the container, and the port that it sends requests to. */
const KSERVE: FrontEndPlace = {
  container: "kserve-container",
  httpPort: KSERVE_PORT,
  metricsPort: null,
  flags: ["--text-parameters"],
};

/**
 * The name is the application's where that is one of DNS, since clients of KServe ask for the model
 * by it. It scales nothing: one front end has all workers, and several share them in a cluster.
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
        // Knative would stop it when nothing comes, and knows no other workers.
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

/** @param pools the bundle's. */
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

/** Of a front end's pod; left out where it has none. */
function volumesOf(options: ManifestOptions): { readonly volumes?: readonly object[] } {
  const { volumes } = podFilesOf(options);
  return volumes.length === 0 ? {} : { volumes };
}

/** Where its workers are: a list that is known beforehand, or whoever meets in the cluster. */
function membersOf(options: ManifestOptions, pools: readonly Pool[]): string[] {
  const { cluster } = options;
  if (cluster !== null) return ["--cluster", cluster, "--front-end", "$(POD_NAME)"];
  return pools.flatMap((pool) => ["--workers", `${pool.name}=${workerUrls(options, pool).join()}`]);
}

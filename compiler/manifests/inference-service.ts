/** The front end as KServe hosts it: a predictor that speaks the protocol by itself. */
import type { Pool } from "stratagem-runtime/internal/bundle/schema";
import { frontEndContainer, volumesOf } from "./front-end.ts";
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import { KSERVE_PORT, metaOf, POD_SECURITY } from "./objects.ts";

/** As KServe names the container, and the port that it sends requests to. */
const KSERVE = {
  container: "kserve-container",
  httpPort: KSERVE_PORT,
  metricsPort: null,
  flags: ["--text-parameters"],
} as const;

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

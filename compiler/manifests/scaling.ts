/** What KEDA is told: a ScaledObject for each pool whose plans differ. */
import type { KubernetesObject, ManifestOptions } from "./manifest-options.ts";
import { metaOf, SCALER_PORT, scalerName, workersName } from "./objects.ts";
import type { PlannedPool } from "./workers.ts";

/** A pod that leaves is not needed any more: the plan has waited already. */
const NO_WAIT = { stabilizationWindowSeconds: 0 };
/** After so many answers that fail, the pool is as large as it can be. */
const FAILURES = 3;
/** How often KEDA asks for a pool that has no workers. */
const POLLING_SECONDS = 30;

/** @param pools those whose plans want more workers at some loads than at others. */
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
            // Of the autoscaler: the scaler asks for so much more that it is acted on, which it
            // counts from the replicas of the set.
            tolerance: "0.1",
            statefulSet: name,
          },
        },
      ],
    },
  };
}

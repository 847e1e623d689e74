/** Converts a bundle to Kubernetes objects in files. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { frontEndObjects, inferenceServiceObject } from "./front-end.ts";
import type { ManifestFile, ManifestOptions } from "./manifest-options.ts";
import { monitoringObjects } from "./monitoring.ts";
import { dnsLabel, policyName } from "./objects.ts";
import { policyObject } from "./policy.ts";
import { rbacObjects, scaledObjects, scalerObjects } from "./scaler.ts";
import { type PlannedPool, workerObjects } from "./workers.ts";

/** Limit of DNS labels; a dash and the number of a pod follow the name of its set. */
const MAX_SET_NAME = 57;

interface ManifestSource {
  readonly bundle: Bundle;
  /** Content of the bundle's file. */
  readonly bytes: Uint8Array;
  /** [levelCount][poolCount]: workers of each pool in the plan of a level. */
  readonly workersByLevel: readonly (readonly number[])[];
}

/**
 * Returns everything that a Kubernetes cluster needs to serve the bundle, in the order of
 * application.
 * @throws RuntimeError RUNTIME_USAGE for names that Kubernetes does not accept, for a bundle that
 * is too large for a ConfigMap, and for an invalid combination of options.
 */
export function manifestsOf(source: ManifestSource, options: ManifestOptions): ManifestFile[] {
  const { pools } = source.bundle.cluster;
  const { policy, isKserve, scaler } = options;
  const planned = plannedPools(source, scaler !== "none");
  checkOptions(options, planned);
  const scaled = planned.filter(({ isScaled }) => isScaled);
  const files: ManifestFile[] = [
    file("policy.yaml", `The bundle as ConfigMap ${policyName(options)}.`, [
      ...(policy === null ? [policyObject(options, source.bytes)] : []),
    ]),
    file(
      "rbac.yaml",
      "Permissions of the scaler.",
      scaled.length > 0 ? rbacObjects(options, scaled) : [],
    ),
    file(
      "workers.yaml",
      "The workers of each pool.",
      planned.flatMap((pool) => workerObjects(options, pool, pools)),
    ),
    isKserve
      ? file("inference-service.yaml", "The front end, hosted by KServe.", [
          inferenceServiceObject(options, pools),
        ])
      : file("front-end.yaml", "The front end and its service.", frontEndObjects(options, pools)),
    file(
      "scaling.yaml",
      "Scaling of the workers by the plan for the load.",
      scaled.length > 0 ? [...scalerObjects(options), ...scaledObjects(options, scaled)] : [],
    ),
    file("monitoring.yaml", "Monitoring with Prometheus.", monitoringObjects(options)),
  ];
  return files.filter(({ objects }) => objects.length > 0);
}

function file(name: string, about: string, objects: ManifestFile["objects"]): ManifestFile {
  return { file: name, about, objects };
}

/** @param follows whether a scaler follows the load. */
function plannedPools({ bundle, workersByLevel }: ManifestSource, follows: boolean): PlannedPool[] {
  return bundle.cluster.pools.map((pool, index) => {
    const wanted = workersByLevel.map((workers) => workers[index] ?? pool.workers);
    // Keeps a worker even if no level needs one, since a pool of none could not be observed.
    const least = Math.max(1, Math.min(...wanted));
    return { pool, least, isScaled: follows && least < pool.workers };
  });
}

function checkOptions(options: ManifestOptions, planned: readonly PlannedPool[]): void {
  const { name, frontEnds, cluster, modelsClaim } = options;
  if (frontEnds > 1 && cluster === null) {
    throw usage(
      `--front-ends ${frontEnds} needs --cluster nats://…, in which they share the workers`,
    );
  }
  if (modelsClaim === null && cluster === null) {
    throw usage(
      "--models-claim none needs --cluster nats://…, through which workers get the models",
    );
  }
  const seen = new Map<string, string>();
  for (const { pool } of planned) {
    const label = dnsLabel(pool.name);
    const other = seen.get(label);
    if (label === "" || other !== undefined || label === "front-end" || label === "scaler") {
      const why =
        other === undefined
          ? "a unique name with letters and digits"
          : `a name other than "${other}"`;
      throw usage(`pool "${pool.name}": expected ${why} for its objects; got "${label}"`);
    }
    seen.set(label, pool.name);
    const set = `${name}-${label}`;
    if (set.length > MAX_SET_NAME) {
      throw usage(`--name ${name}: expected ${set} to have at most ${MAX_SET_NAME} characters`);
    }
  }
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}

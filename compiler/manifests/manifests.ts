/** A bundle as objects of Kubernetes, file by file. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { frontEndObjects, inferenceServiceObject } from "./front-end.ts";
import type { ManifestFile, ManifestOptions } from "./manifest-options.ts";
import { monitoringObjects } from "./monitoring.ts";
import { dnsLabel, policyName } from "./objects.ts";
import { policyObject } from "./policy.ts";
import { rbacObjects, scaledObjects, scalerObjects } from "./scaler.ts";
import { type PlannedPool, workerObjects } from "./workers.ts";

/** Of labels of DNS; the number of a pod and a dash follow the name of its set. */
const MAX_SET_NAME = 57;

interface ManifestSource {
  readonly bundle: Bundle;
  /** Of its file. */
  readonly bytes: Uint8Array;
  /** [levelCount][poolCount]: workers that the plan of a level wants of each pool. */
  readonly workersByLevel: readonly (readonly number[])[];
}

/**
 * Everything that a cluster needs to serve the bundle, in the order in which it is applied.
 * @throws RuntimeError RUNTIME_USAGE for names that Kubernetes does not take, for a bundle that is
 * too large for a ConfigMap, and for a combination of options that there cannot be.
 */
export function manifestsOf(source: ManifestSource, options: ManifestOptions): ManifestFile[] {
  const { pools } = source.bundle.cluster;
  const { policy, isKserve, scaler } = options;
  const planned = plannedPools(source, scaler !== "none");
  checkOptions(options, planned);
  const scaled = planned.filter(({ isScaled }) => isScaled);
  const files: ManifestFile[] = [
    file("policy.yaml", `The bundle, as ${policyName(options)}.`, [
      ...(policy === null ? [policyObject(options, source.bytes)] : []),
    ]),
    file(
      "rbac.yaml",
      "What the scaler may do to the workers.",
      scaled.length > 0 ? rbacObjects(options, scaled) : [],
    ),
    file(
      "workers.yaml",
      "The workers of each pool.",
      planned.flatMap((pool) => workerObjects(options, pool)),
    ),
    isKserve
      ? file("inference-service.yaml", "The front end, hosted by KServe.", [
          inferenceServiceObject(options, pools),
        ])
      : file("front-end.yaml", "The front end and its service.", frontEndObjects(options, pools)),
    file(
      "scaling.yaml",
      "As many workers as the plan of the load wants.",
      scaled.length > 0 ? [...scalerObjects(options), ...scaledObjects(options, scaled)] : [],
    ),
    file("monitoring.yaml", "What Prometheus scrapes.", monitoringObjects(options)),
  ];
  return files.filter(({ objects }) => objects.length > 0);
}

function file(name: string, about: string, objects: ManifestFile["objects"]): ManifestFile {
  return { file: name, about, objects };
}

/** @param follows whether somebody follows the load. */
function plannedPools({ bundle, workersByLevel }: ManifestSource, follows: boolean): PlannedPool[] {
  return bundle.cluster.pools.map((pool, index) => {
    const wanted = workersByLevel.map((workers) => workers[index] ?? pool.workers);
    // A worker stays where no level wants one: a pool of none is never seen to be of use.
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
    throw usage("--models-claim none needs --cluster nats://…, over which workers get the models");
  }
  const seen = new Map<string, string>();
  for (const { pool } of planned) {
    const label = dnsLabel(pool.name);
    const other = seen.get(label);
    if (label === "" || other !== undefined || label === "front-end" || label === "scaler") {
      const why =
        other === undefined ? "a name of its own in letters and digits" : `another than "${other}"`;
      throw usage(`pool "${pool.name}": expected ${why}, to name its objects by; got "${label}"`);
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

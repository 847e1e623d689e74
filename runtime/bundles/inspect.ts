/** Report of a bundle, as data. */

import { type Bundle, FORMAT_VERSION } from "../bundle/schema.ts";
import { paceLevelsOf } from "../describe/pace-promises.ts";
import { methodOf } from "../methods/registry.ts";

/** @param file size and SHA-256 of the file that held the bundle. */
export function inspectBundle(bundle: Bundle, file: { byteCount: number; sha256: string }) {
  const method = methodOf(bundle);
  const paceLevels = paceLevelsOf(bundle);
  return {
    formatVersion: FORMAT_VERSION,
    application: bundle.application,
    method: bundle.method,
    bytes: file.byteCount,
    sha256: file.sha256,
    slo: bundle.slo,
    arrivals: bundle.arrivals,
    cluster: bundle.cluster,
    tasks: method.taskReports(bundle),
    policy: bundle.policy,
    levels: levelReports(bundle),
    ...(paceLevels.length > 0 && { paceLevels }),
    provenance: bundle.provenance,
    sections: method.sections(bundle),
  };
}

/** Reports levels as `compile` does, except for the wall time, which bundles do not carry. */
export function levelReports(bundle: Bundle, solveMs: readonly number[] = []): readonly object[] {
  return methodOf(bundle).levelReports(bundle, solveMs);
}

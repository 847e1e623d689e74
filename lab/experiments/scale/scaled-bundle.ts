/** The policy of an example of ours, compiled again for another cluster. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { compiled } from "../harness/cli.ts";

export interface ClusterSketch {
  readonly workers: number;
  /** What a batch takes to its worker and back beside its computing, ms; the worker waits. */
  readonly roundTripMs: number;
  readonly loadQps: number;
}

export interface ScaledBundle {
  readonly bundle: RamsisBundle;
  readonly solveMs: number;
}

interface Profile {
  readonly variants: Readonly<Record<string, { latencyMs: Record<string, number> }>>;
}

const APP = "policies/image-classification/app.yaml";
const PROFILE = "profiles/image-classification/gcp-n1-4vcpu-haswell.json";

/**
 * One level, for its load; the profile's times have a round trip each. It is compiled from a spec,
 * for what a table can tell apart (slacks, queue lengths) goes by its times and its load.
 * @param folder where files of that cluster are written over.
 */
export async function scaledBundle(
  folder: string,
  { workers, roundTripMs, loadQps }: ClusterSketch,
): Promise<ScaledBundle> {
  const name = `${workers}-${loadQps}-${roundTripMs}`;
  const profile: Profile = JSON.parse(readFileSync(PROFILE, "utf8"));
  for (const { latencyMs } of Object.values(profile.variants)) {
    for (const [batch, ms] of Object.entries(latencyMs)) latencyMs[batch] = ms + roundTripMs;
  }
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(profile));
  const spec = readFileSync(APP, "utf8")
    .replaceAll(`../../${PROFILE}`, `${name}.json`)
    .replace(/loads: \{.*\} *$/m, `loads: [${loadQps}]`)
    .replace(/workers: \d+/, `workers: ${workers}`);
  const app = join(folder, `${name}.yaml`);
  writeFileSync(app, spec);
  const { bundle, compileMs } = await compiled("ramsis", app);
  return { bundle, solveMs: compileMs };
}

/** The models of Table 1 on 64 places, compiled as any user would; at most 8 places for a query. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { compiled } from "../harness/cli.ts";

export const PLACES = 64;
/** Of the largest model that many take just under an hour, which is the most that bundles hold. */
const MAX_BATCH = 740;

/**
 * How long an instance takes: `paper` is T(B) = B L / S(N), as the paper's figures imply;
 * `pipelined` is T(B) = L + (B - 1) L / S(N), where depth never speeds one instance up.
 */
export type Timing = "paper" | "pipelined";
export const TIMINGS: readonly Timing[] = ["paper", "pipelined"];

/** Time on one place, and speed-ups; depths between are interpolated linearly. */
const MODELS = {
  ResNet50: { ms: 1400, speedups: { 2: 1.33, 4: 2.19, 8: 3.29 } },
  VGG16: { ms: 690, speedups: { 2: 1.43, 4: 2.71, 8: 3.47 } },
  ResNet152: { ms: 4820, speedups: { 2: 1.94, 4: 2.06, 8: 5.66 } },
};

/** Of an instance on one place, by model, ms. */
export const WHOLE_MS: readonly number[] = Object.values(MODELS).map(({ ms }) => ms);

export async function tableOne(folder: string, timing: Timing): Promise<AccordionBundle> {
  const variants = Object.entries(MODELS).map(([model, { ms, speedups }]) => {
    return [model, { accuracy: 1, latencyMs: { 1: ms }, speedups }] as const;
  });
  const profile = {
    format: "latency-profile/1",
    hardware: "alder-lake-p",
    variants: Object.fromEntries(variants),
  };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const application = {
    version: 1,
    application: "table-1",
    slo: { latency: "60 s" },
    workload: { arrivals: { process: "poisson" }, loads: [0.5] },
    cluster: { pools: [{ name: "alder-lake", hardware: "alder-lake-p", workers: PLACES }] },
    tasks: [
      {
        name: "classify",
        variants: variants.map(([name]) => ({ name, profile: `profile.json#${name}` })),
      },
    ],
    policy: {
      method: "accordion",
      executionPlaces: PLACES,
      maxDepth: 8,
      maxBatch: MAX_BATCH,
      timing,
      batchSigma: 0.5,
      lowShare: 0.5,
      dropAfter: 1,
    },
  };
  const app = join(folder, "app.yaml");
  // JSON is YAML.
  writeFileSync(app, JSON.stringify(application));
  const { bundle } = await compiled("accordion", app, join(folder, `${timing}.msgpack`));
  return bundle;
}

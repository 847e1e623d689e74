/** What the policy of one model does with batches on a GPU, load by load. */
import { join } from "node:path";
import { baselineBundle } from "stratagem/internal/methods/ramsis/simulate/baselines/simulate-baseline";
import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import { compiled } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent } from "../harness/numbers.ts";
import { BatchCounts } from "./batch-counts.ts";
import {
  FAMILIES,
  type Family,
  type GpuVariant,
  gpuVariants,
  mostQps,
  oneByOne,
  SLO_MS,
  writeGpuApp,
} from "./gpu-profiles.ts";

const WORKERS = 4;
const LARGEST = 16;
/** Of what the workers carry with the fastest variant. */
const SHARES = [0.02, 0.1, 0.3, 0.6, 0.9];
const QUERIES = 50_000;
const SEED = 1;

export const ramsisGpu: Experiment = {
  name: "gpu",
  about: "batches on GPUs: how large, and when it pays to wait for more",
  takes: "one minute",
  run: async (run) => {
    for (const family of FAMILIES) await byLoad(run, family);
  },
};

async function byLoad({ page, folder }: Run, family: Family): Promise<void> {
  const variants = gpuVariants(family);
  const capacityQps = WORKERS * mostQps(variants);
  const rows: string[][] = [];
  for (const share of SHARES) {
    const qps = Math.round(share * capacityQps);
    const own = join(folder, `${family}-${qps}`);
    const ours = await policyOf(own, variants, qps);
    const single = await policyOf(`${own}-1`, oneByOne(variants), qps);
    const counts = new BatchCounts(dispatcherOf(ours));
    const served = simulated(ours, counts, qps);
    const greedy = baselineBundle(ours, { kind: "greedy" }, () => 0);
    rows.push([
      String(qps),
      told(served),
      ...[counts.shareOf(1, 1), counts.shareOf(2, 7), counts.shareOf(8, LARGEST)].map(whole),
      whole(counts.deferredShare),
      told(simulated(greedy, dispatcherOf(greedy), qps)),
      told(simulated(single, dispatcherOf(single), qps)),
    ]);
  }
  page.say(
    `\n${family}, ${variants.length} variants on ${WORKERS} GPUs, SLO ${SLO_MS} ms: accuracy per ` +
      "query and, in brackets, violations; batches by size, and those that were waited for",
  );
  const sizes = ["batches of 1", "2-7", `8-${LARGEST}`, "waited for"];
  page.table(["queries/s", "ours", ...sizes, "greedy", "batch 1 only"], rows);
}

async function policyOf(
  folder: string,
  variants: readonly GpuVariant[],
  qps: number,
): Promise<RamsisBundle> {
  const cluster = { workers: WORKERS };
  const policy = { method: "ramsis", maxQueue: LARGEST };
  return (
    await compiled("ramsis", writeGpuApp(folder, { variants, loads: [qps], cluster, policy }))
  ).bundle;
}

type Dispatcher = Parameters<typeof simulateCluster>[1];

function simulated(bundle: RamsisBundle, dispatcher: Dispatcher, qps: number) {
  return simulateCluster(bundle, dispatcher, {
    arrivals: { kind: "poisson", qps },
    durationMs: (1000 * QUERIES) / qps,
    serviceTimes: "p95",
    arrivalRng: new Rng(SEED, 1),
    serviceRng: new Rng(SEED, 2),
  });
}

function told({ accuracyPerQuery, violationRate }: ReturnType<typeof simulated>): string {
  return `${percent(accuracyPerQuery)} (${percent(violationRate)})`;
}

function whole(share: number): string {
  return percent(share, 0);
}

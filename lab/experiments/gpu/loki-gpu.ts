/** Which batches plans of a fixed number of GPUs choose, load by load. */
import { join } from "node:path";
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { compiled } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { percent, present } from "../harness/numbers.ts";
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

const WORKERS = 8;
/** Of what the workers carry with the fastest variant. */
const SHARES = [0.01, 0.05, 0.2, 0.5, 0.8];

export const lokiGpu: Experiment = {
  name: "gpu",
  about: "batches of plans on GPUs",
  takes: "half a minute",
  run: async (run) => {
    for (const family of FAMILIES) await byLoad(run, family);
  },
};

async function byLoad({ page, folder }: Run, family: Family): Promise<void> {
  const variants = gpuVariants(family);
  const capacityQps = WORKERS * mostQps(variants);
  const loads = SHARES.map((share) => Math.round(share * capacityQps));
  const ours = await planned(join(folder, family), variants, loads);
  const single = await planned(join(folder, `${family}-1`), oneByOne(variants), loads);
  const rows = loads.map((qps, index) => [
    String(qps),
    ...cellsOf(ours, index),
    instancesOf(ours, index),
    ...cellsOf(single, index),
  ]);
  page.say(
    `\n${family}, ${variants.length} variants on ${WORKERS} GPUs, SLO ${SLO_MS} ms: GPUs that ` +
      "a plan uses, its accuracy, and its GPUs x batch",
  );
  page.table(["queries/s", "GPUs", "accuracy", "batches", "batch 1 only: GPUs", "accuracy"], rows);
  const [most, mostSingle] = [ours, single].map(({ levels }) => present(levels[0]).capacityQps);
  page.say(
    `capacity ${present(most).toFixed(0)} queries/s, ` +
      `with batch 1 only ${present(mostSingle).toFixed(0)}`,
  );
}

async function planned(
  folder: string,
  variants: readonly GpuVariant[],
  loads: readonly number[],
): Promise<LokiBundle> {
  const cluster = { workers: WORKERS };
  const spec = { variants, loads, cluster, policy: { method: "loki" } };
  return (await compiled("loki", writeGpuApp(folder, spec))).bundle;
}

function cellsOf({ levels }: LokiBundle, index: number): string[] {
  const { plan, feasible } = present(levels[index]);
  return feasible ? [String(plan.servers), percent(plan.accuracy)] : ["-", "-"];
}

/** Servers by batch, the smallest first. */
function instancesOf({ levels }: LokiBundle, index: number): string {
  const byBatch = new Map<number, number>();
  for (const { batch, replicas } of present(levels[index]).plan.instances) {
    byBatch.set(batch, (byBatch.get(batch) ?? 0) + replicas);
  }
  return [...byBatch]
    .sort(([a], [b]) => a - b)
    .map(([batch, count]) => `${count} x ${batch}`)
    .join(", ");
}

/** What the cheapest GPUs for a load are, with batches and without. */
import { join } from "node:path";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { compiled } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { present } from "../harness/numbers.ts";
import { type GpuVariant, gpuVariants, oneByOne, SLO_MS, writeGpuApp } from "./gpu-profiles.ts";

/** A model of each family: plans never change the model. */
const MODELS = [
  { family: "sentiment", model: "roberta-base", loads: [10, 50, 200, 1000, 4000] },
  { family: "detection", model: "yolov5l", loads: [10, 50, 200, 500, 1000] },
] as const;
const WORKERS = 64;

export const inferlineGpu: Experiment = {
  name: "gpu",
  about: "batches and numbers of GPUs, load by load",
  takes: "one minute",
  run: async (run) => {
    for (const each of MODELS) await byLoad(run, each);
  },
};

async function byLoad(
  { page, folder }: Run,
  { family, model, loads }: (typeof MODELS)[number],
): Promise<void> {
  const variants = gpuVariants(family).filter(({ name }) => name === model);
  const ours = await planned(join(folder, model), variants, loads);
  const single = await planned(join(folder, `${model}-1`), oneByOne(variants), loads);
  const rows = loads.map((qps, index) => {
    const { batch, replicas } = stageOf(ours, index);
    const alone = present(single.levels[index]);
    const least = alone.feasible ? String(stageOf(single, index).replicas) : `over ${WORKERS}`;
    return [String(qps), String(replicas), String(batch), least];
  });
  page.say(`\n${model}, p99 within ${SLO_MS} ms: the fewest GPUs, and their largest batch`);
  page.table(["queries/s", "GPUs", "batch", "batch 1 only: GPUs"], rows);
}

async function planned(
  folder: string,
  variants: readonly GpuVariant[],
  loads: readonly number[],
): Promise<InferlineBundle> {
  const pool = { name: "gpu", hardware: "gpu_ampere", workers: WORKERS, pricePerHour: 1 };
  const spec = {
    ...{ variants, loads, slo: { percentile: 99 }, cluster: { pools: [pool] } },
    policy: { method: "inferline", margin: "auto", sampleDuration: "60 s" },
  };
  return (await compiled("inferline", writeGpuApp(folder, spec))).bundle;
}

function stageOf({ levels }: InferlineBundle, index: number) {
  return present(present(levels[index]).plan.stages[0]);
}

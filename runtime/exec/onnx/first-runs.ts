/**
 * Warm-up of a model before its worker counts as ready: does the one-time work of a provider, and
 * finds the nodes that it leaves to the processor.
 */
import { bucketCount } from "../../bundle/schema.ts";
import type { VariantModel } from "../models/executor.ts";
import { type LoadFacts, refusalText } from "../models/model-facts.ts";
import { fillWithNoise } from "../models/noise.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { zerosOf } from "../tensors/batch-tensors.ts";
import { type Places, placesOf, UNKNOWN_PLACES } from "./node-places.ts";
import type { OpenedSession } from "./open-session.ts";
import { warmSizes } from "./warm-sizes.ts";

/**
 * The first run of a small model takes up to 2.4 times as long as later ones; the second does not.
 */
const WARM_RUNS = 2;

type Inputs = readonly Uint8Array<ArrayBuffer>[];

/** A model that is loaded, as far as its first runs need it. */
interface NewModel {
  readonly variant: VariantModel;
  /** Sessions of its files. */
  readonly opened: readonly OpenedSession[];
  readonly run: (rows: number, inputs: Inputs, bucket: number) => Promise<unknown>;
  /** Like `run`, but onnxruntime logs nothing if it refuses the values. */
  readonly tryRun: (rows: number, inputs: Inputs, bucket: number) => Promise<unknown>;
}

/**
 * Runs every size that its tables use, in every bucket.
 * @param onStep called before the runs of each size, which may take long.
 * @throws Error if the model refuses zeros and may not, or if nodes fall back and that is refused.
 */
export async function firstRuns(
  model: NewModel,
  setup: WorkerSetup,
  onStep: (step: string) => void,
): Promise<Omit<LoadFacts, "loadMs">> {
  const startMs = performance.now();
  const sizes = warmSizes(model.variant, setup.on.provider);
  const isOnGpu = setup.on.provider !== "cpu";
  const places = isOnGpu ? await placesIn(model, sizes[0] ?? 1, setup, onStep) : UNKNOWN_PLACES;
  for (const rows of sizes) {
    onStep(firstRunsOf(rows));
    await warm(model, rows, isOnGpu);
  }
  const warmMs = sizes.length === 0 ? 0 : performance.now() - startMs;
  return { warmMs, ...places };
}

/** Called before the first runs of a size. */
function firstRunsOf(rows: number): string {
  return `its first runs with ${rows} ${rows === 1 ? "row" : "rows"}`;
}

async function warm(
  { variant, run, tryRun }: NewModel,
  rows: number,
  isOnGpu: boolean,
): Promise<void> {
  const { buckets, inputs, mayRefuseZeros = false } = variant;
  for (let bucket = 0; bucket < bucketCount(buckets); bucket++) {
    const values = zerosOf(variant, rows, bucket);
    for (let count = 0; count < WARM_RUNS; count++) {
      if (mayRefuseZeros) await tryRun(rows, values, bucket).catch(() => {});
      else await run(rows, values, bucket);
    }
    if (!isOnGpu) continue;
    // A detector finds nothing in zeros, so its later nodes would not be compiled: noise runs as
    // well.
    for (const [input, { dtype }] of inputs.entries()) {
      const bytes = values[input];
      if (bytes !== undefined) fillWithNoise(dtype, bytes);
    }
    await tryRun(rows, values, bucket).catch(() => {});
  }
}

/**
 * Finds the nodes of all files that run on the processor, in one run of the whole chain.
 * @throws Error if there are such nodes, and that is refused.
 */
async function placesIn(
  { variant, opened, tryRun }: NewModel,
  rows: number,
  { cpuFallback }: WorkerSetup,
  onStep: (step: string) => void,
): Promise<Places> {
  onStep(firstRunsOf(rows));
  const first = tryRun(rows, zerosOf(variant, rows, 0), 0);
  const all: Places[] = [];
  for (const { session, profile, openStrictly } of opened) {
    all.push(await placesOf(session, profile, { run: () => first, openStrictly }));
  }
  const places = {
    nodes: all.reduce<number | null>(
      (sum, { nodes }) => (sum === null || nodes === null ? null : sum + nodes),
      0,
    ),
    cpuNodes: all.flatMap(({ cpuNodes }) => cpuNodes),
    hasFallback: all.some(({ hasFallback }) => hasFallback),
  };
  if (!places.hasFallback || cpuFallback !== "refuse") return places;
  throw new Error(refusalText(places));
}

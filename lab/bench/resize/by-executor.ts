/** What the product does, from the call until it tells that other cores are in force. */

import { setTimeout as pause } from "node:timers/promises";
import type {
  AssignedExecutor,
  Batch,
  VariantModel,
} from "stratagem-runtime/internal/exec/models/executor";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { describeModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import { startAssignedExecutor } from "stratagem-runtime/internal/exec/pool/assigned-pool";
import { present } from "../../experiments/harness/numbers.ts";
import type { Page } from "../../experiments/harness/page.ts";
import type { BenchModel } from "./from-outside.ts";
import { ms, quantile, SPREAD, spread, timed } from "./times.ts";

const CHANGES = 40;
/** Of what loads models or starts processes. */
const SLOW_CHANGES = 8;
const DEMONSTRATION = { seconds: 10, everyMs: 250 };

/** One worker. */
interface Scaled {
  readonly executor: AssignedExecutor;
  assign(cores: number): Promise<void>;
  resize(cores: number): Promise<void>;
}

export async function compareByExecutor(
  page: Page,
  { name, path, batches }: BenchModel,
): Promise<void> {
  const { inputs, outputs } = (await describeModel(path)).model;
  const model = { name, path, inputs, outputs, warmBatches: batches, outputsAreRows: false };
  const count = present(batches.at(-1));
  const zeros = inputs.map(({ dtype, shape }) => {
    const row = shape.slice(1).reduce((product, axis) => product * axis, 1);
    return [new Uint8Array(count * row * (dtype === "uint8" ? 1 : 4))];
  });
  const batch = { variant: 0, rows: count, inputs: zeros };
  const rows = [
    ...(await warmRows(page, name, { ...model, warmCores: [1, 2] }, batch)),
    ...(await coldRows({ ...model, warmCores: [] })),
  ];
  page.say(`\n${name}: time until it is in force`);
  page.table(["way", ...SPREAD], rows);
}

async function warmRows(
  page: Page,
  name: string,
  model: VariantModel,
  batch: Batch,
): Promise<string[][]> {
  const scaled = await startScaled(model);
  try {
    await scaled.assign(1);
    const idle = await alternate(scaled, CHANGES, [2, 1]);
    const { changes, late } = await alternateBusy(scaled, batch);
    page.say(`\n${await demonstration(name, scaled, batch)}`);
    return [
      ["warm session, idle", ...spread(idle)],
      ["warm session, while a batch runs, with the rest of the batch", ...spread(changes)],
      ["warm session, after the batch that ran", ...spread(late)],
    ];
  } finally {
    await scaled.executor.close();
  }
}

async function coldRows(model: VariantModel): Promise<string[][]> {
  const scaled = await startScaled(model);
  try {
    const starts: number[] = [];
    for (let start = 0; start < SLOW_CHANGES; start++) {
      starts.push(await timed(() => scaled.assign(1)));
      scaled.executor.release(0);
    }
    await scaled.assign(1);
    // Two counts are held at a time: the one in force, and the one before it.
    const loads = await alternate(scaled, SLOW_CHANGES, [2, 3, 4]);
    return [
      ["session loaded and warmed then", ...spread(loads)],
      ["another process", ...spread(starts)],
    ];
  } finally {
    await scaled.executor.close();
  }
}

async function startScaled(variant: VariantModel): Promise<Scaled> {
  const waiting = { model: () => {}, resized: () => {}, ready: () => {} };
  const told = (what: keyof typeof waiting, act: () => void) =>
    new Promise<void>((resolve) => {
      waiting[what] = resolve;
      act();
    });
  const ready = told("ready", () => {});
  const executor = await startAssignedExecutor(
    { variants: [variant], workerCount: 1, threadsPerWorker: 1, devices: devicesOn("cpu", 1) },
    {
      onReady: () => waiting.ready(),
      onModelReady: () => waiting.model(),
      onResized: () => waiting.resized(),
      onLost: (_, reason) => {
        throw new Error(`the worker was lost: ${reason}`);
      },
    },
  );
  await ready;
  return {
    executor,
    assign: (cores) => told("model", () => executor.assign(0, [0], cores)),
    resize: (cores) => told("resized", () => executor.resize(0, cores)),
  };
}

/** Times of changes through these counts, again and again. */
async function alternate(
  { resize }: Scaled,
  changes: number,
  counts: readonly number[],
): Promise<number[]> {
  const times: number[] = [];
  for (let change = 0; change < changes; change++) {
    times.push(await timed(() => resize(present(counts[change % counts.length]))));
  }
  return times;
}

async function alternateBusy({ executor, resize }: Scaled, batch: Batch) {
  const changes: number[] = [];
  const late: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    const ended = executor.run(0, batch).then(() => performance.now());
    await pause(1);
    const startMs = performance.now();
    await resize(((change + 1) % 2) + 1);
    const inForceMs = performance.now();
    changes.push(inForceMs - startMs);
    late.push(Math.max(0, inForceMs - (await ended)));
  }
  return { changes, late };
}

/** Batches one after the other, and a resize now and then whatever runs. */
async function demonstration(name: string, { executor }: Scaled, batch: Batch): Promise<string> {
  const wallMs: [one: number[], two: number[]] = [[], []];
  let cores = 1;
  let asked = 0;
  let failed = 0;
  const timer = setInterval(() => {
    cores = 3 - cores;
    asked++;
    executor.resize(0, cores);
  }, DEMONSTRATION.everyMs);
  const endMs = performance.now() + 1000 * DEMONSTRATION.seconds;
  while (performance.now() < endMs) {
    try {
      const result = await executor.run(0, batch);
      wallMs[result.cores === 1 ? 0 : 1].push(result.wallMs);
    } catch {
      failed++;
    }
  }
  clearInterval(timer);
  const told = wallMs.map((times, index) => {
    const [p50, p95] = [0.5, 0.95].map((share) => ms(quantile(times, share)));
    return `${times.length} on ${index + 1} (p50 ${p50}, p95 ${p95} ms)`;
  });
  const run = `${name}, batches of ${batch.rows} without a gap for ${DEMONSTRATION.seconds} s`;
  return `${run}, ${asked} resizes: ${told.join(", ")}, ${failed} failed`;
}

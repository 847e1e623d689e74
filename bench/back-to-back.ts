/**
 * What is gained where a worker has its next batch before the answer of the last is read. `npm run
 * bench:back-to-back`
 *
 * Batches in a row through one worker, in both ways by turns, so that both meet the same machine.
 * The first model gives back what it gets, on the processor that this process reads with. The
 * second waits as long as a device may compute, which leaves the processor free: what is on its way
 * meanwhile costs nothing.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Batch, VariantModel } from "stratagem-runtime/internal/exec/executor";
import { startExecutor } from "stratagem-runtime/internal/exec/worker-pool";
import { machineLines } from "../experiments/harness/live.ts";
import { ascending } from "../experiments/harness/numbers.ts";
import { Page } from "../experiments/harness/page.ts";
import { identityModel } from "../test/support/onnx-model.ts";

/** Float32 numbers in a row: 12 KB, a small image; 602 KB, one of 224 x 224. */
const WIDTHS = [3072, 150_528];
const ROWS = [1, 8];
const ROUNDS = 15;
const BATCHES = 40;
const DEVICE_MS = 5;
const DEVICE_MODULE = `
export default async function ({ options }) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const tensors = [{ name: "x", datatype: "FP32", shape: [options.width] }];
  return {
    inputs: tensors,
    outputs: [{ ...tensors[0], name: "y" }],
    async run({ x }) {
      Atomics.wait(cell, 0, 0, ${DEVICE_MS});
      return { y: x };
    },
  };
}
`;

const folder = mkdtempSync(join(tmpdir(), "back-to-back-"));
const page = new Page("text");
try {
  for (const line of machineLines()) page.say(line);
  await compareAll();
} finally {
  rmSync(folder, { recursive: true });
}

async function compareAll(): Promise<void> {
  const variants = WIDTHS.flatMap((width) => [identityOf(width), deviceOf(width)]);
  const executor = await startExecutor(
    {
      ...{ variants, workerCount: 1, standbyCount: 0, threadsPerWorker: 1 },
      ...{ device: "cpu", deviceIds: [] },
    },
    { onReady: () => {}, onLost: () => {} },
  );
  const rows: string[][] = [];
  for (const [variant, { name, inputs }] of variants.entries()) {
    for (const count of ROWS) {
      const row = new Uint8Array(4 * (inputs[0]?.shape[1] ?? 0));
      const batch = { variant, rows: count, inputs: [Array.from({ length: count }, () => row)] };
      const run = (given: Batch, onComputed?: () => void) => executor.run(0, given, onComputed);
      await waiting(run, batch);
      const rounds: { waitingMs: number; backToBackMs: number }[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const waitingMs = await waiting(run, batch);
        rounds.push({ waitingMs, backToBackMs: await backToBack(run, batch) });
      }
      const ratios = ascending(rounds.map((one) => one.waitingMs / one.backToBackMs));
      const each = (times: readonly number[]) => (middle(times) / BATCHES).toFixed(2);
      rows.push([
        `${name}, ${count} ${count === 1 ? "row" : "rows"}`,
        each(rounds.map(({ waitingMs }) => waitingMs)),
        each(rounds.map(({ backToBackMs }) => backToBackMs)),
        middle(ratios).toFixed(2),
        `${at(ratios, 0.25).toFixed(2)}..${at(ratios, 0.75).toFixed(2)}`,
      ]);
    }
  }
  await executor.close();
  page.say(`\nms for a batch, median of ${ROUNDS} rounds of ${BATCHES} batches each way`);
  page.table(["model", "waiting", "back to back", "times", "half of the rounds"], rows);
}

type RunBatch = (batch: Batch, onComputed?: () => void) => Promise<unknown>;

async function waiting(run: RunBatch, batch: Batch): Promise<number> {
  const startMs = performance.now();
  for (let count = 0; count < BATCHES; count++) await run(batch);
  return performance.now() - startMs;
}

async function backToBack(run: RunBatch, batch: Batch): Promise<number> {
  const startMs = performance.now();
  let started = 0;
  let answered = 0;
  await new Promise<void>((resolve, reject) => {
    const next = (): void => {
      if (started === BATCHES) return;
      started++;
      // Answers are let go of at once, as in the other way.
      run(batch, next).then(() => {
        answered++;
        if (answered === BATCHES) resolve();
      }, reject);
    };
    next();
  });
  return performance.now() - startMs;
}

function identityOf(width: number): VariantModel {
  const path = join(folder, `identity-${width}.onnx`);
  writeFileSync(path, identityModel(width));
  return variantOf("processor", width, { path });
}

function deviceOf(width: number): VariantModel {
  const path = join(folder, `device-${width}.mjs`);
  writeFileSync(path, DEVICE_MODULE);
  return variantOf("device", width, {
    path,
    module: { options: JSON.stringify({ width }), folder },
  });
}

function variantOf(
  kind: string,
  width: number,
  how: Pick<VariantModel, "path"> & Partial<VariantModel>,
): VariantModel {
  const tensor = { dtype: "float32", shape: [-1, width] };
  return {
    name: `${kind}, ${Math.round((4 * width) / 1000)} KB`,
    inputs: [{ name: "x", ...tensor }],
    outputs: [{ name: "y", ...tensor }],
    warmBatches: [1],
    ...how,
  };
}

function middle(values: readonly number[]): number {
  return at(ascending(values), 0.5);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
}

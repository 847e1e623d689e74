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
import type { VariantModel } from "stratagem-runtime/internal/exec/models/executor";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { startExecutor } from "stratagem-runtime/internal/exec/pool/worker-pool";
import { identityModel } from "../../test/support/onnx-model.ts";
import { machineLines } from "../experiments/harness/live.ts";
import { ascending, present } from "../experiments/harness/numbers.ts";
import { Page } from "../experiments/harness/page.ts";

/** Float32 numbers in a row: 12 KB, a small image; 602 KB, one of 224 x 224. */
const WIDTHS = [3072, 150_528];
const ROWS = [1, 8];
const ROUNDS = 11;
/** Of a round of one way, by the width. */
const BATCHES = new Map([
  [3072, 300],
  [150_528, 30],
]);
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
      devices: devicesOn("cpu", 1),
    },
    { onReady: () => {}, onLost: () => {} },
  );
  const rows: string[][] = [];
  for (const [variant, { name, inputs }] of variants.entries()) {
    for (const count of ROWS) {
      const width = inputs[0]?.shape[1] ?? 0;
      const row = new Uint8Array(4 * width);
      const batch = { variant, rows: count, inputs: [Array.from({ length: count }, () => row)] };
      const batches = BATCHES.get(width) ?? 1;
      const run: RunBatch = (onComputed) => executor.run(0, batch, onComputed);
      const ways = [waiting, backToBack];
      for (const way of ways) await timed(way, run, batches);
      const rounds: Timed[][] = [];
      for (let round = 0; round < ROUNDS; round++) {
        // Whoever is first may find the machine in another state.
        const first = await timed(present(ways[round % 2]), run, batches);
        const second = await timed(present(ways[1 - (round % 2)]), run, batches);
        rounds.push(round % 2 === 0 ? [first, second] : [second, first]);
      }
      const ratios = ascending(rounds.map(([a, b]) => present(a).ms / present(b).ms));
      const each = (way: number, of: (one: Timed) => number) =>
        at(ascending(rounds.map((round) => of(present(round[way])))), 0.5);
      rows.push([
        `${name}, ${count} ${count === 1 ? "row" : "rows"}`,
        ...[0, 1].map((way) => each(way, ({ ms }) => ms).toFixed(2)),
        at(ratios, 0.5).toFixed(2),
        `${at(ratios, 0.25).toFixed(2)}..${at(ratios, 0.75).toFixed(2)}`,
        ...[0, 1].map((way) => each(way, ({ ownMs }) => 1000 * ownMs).toFixed(0)),
      ]);
    }
  }
  await executor.close();
  page.say(
    `\nms for a batch, median of ${ROUNDS} rounds each way, how many times less that is back to ` +
      "back, and µs of processor time of this process",
  );
  const head = ["waiting", "back to back", "times less", "half of the rounds"];
  page.table(["model", ...head, "own µs, waiting", "back to back"], rows);
}

type RunBatch = (onComputed?: () => void) => Promise<unknown>;

/** For one batch. */
interface Timed {
  readonly ms: number;
  readonly ownMs: number;
}

async function timed(
  way: (run: RunBatch, batches: number) => Promise<void>,
  run: RunBatch,
  batches: number,
): Promise<Timed> {
  const before = process.cpuUsage();
  const startMs = performance.now();
  await way(run, batches);
  const ms = (performance.now() - startMs) / batches;
  const { user, system } = process.cpuUsage(before);
  return { ms, ownMs: (user + system) / 1000 / batches };
}

async function waiting(run: RunBatch, batches: number): Promise<void> {
  for (let count = 0; count < batches; count++) await run();
}

async function backToBack(run: RunBatch, batches: number): Promise<void> {
  let started = 0;
  let answered = 0;
  await new Promise<void>((resolve, reject) => {
    const next = (): void => {
      if (started === batches) return;
      started++;
      // Answers are let go of at once, as in the other way.
      run(next).then(() => {
        answered++;
        if (answered === batches) resolve();
      }, reject);
    };
    next();
  });
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

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
}

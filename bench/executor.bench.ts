/** One batch to a worker process and back, through a model that computes nothing: what the boundary between processes costs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, bench, describe } from "vitest";
import type { Batch, VariantModel } from "../runtime/exec/executor.ts";
import { identityModel } from "../test/support/onnx-model.js";

/** Float32 numbers in a row: 12 KB, a small image; 602 KB, one of 224 × 224. */
const WIDTHS = [3072, 150_528];

type PoolModule = typeof import("../runtime/exec/worker-pool.ts");
// Workers are processes, which run compiled files only.
const { startExecutor }: PoolModule = await import(
  new URL("../dist/runtime/exec/worker-pool.js", import.meta.url).href
);

const folder = mkdtempSync(join(tmpdir(), "executor-bench-"));
const executor = await startExecutor(
  {
    variants: WIDTHS.map(identityVariant),
    workerCount: 1,
    standbyCount: 0,
    threadsPerWorker: 1,
    device: "cpu",
    deviceIds: [],
  },
  { onReady: () => {}, onLost: () => {} },
);

afterAll(async () => {
  await executor.close();
  rmSync(folder, { recursive: true });
});

describe("round trip of a batch through a worker", () => {
  for (const [variant, width] of WIDTHS.entries()) {
    for (const rows of [1, 8]) {
      const row = new Uint8Array(new Float32Array(width).fill(1).buffer);
      const inputs = [Array.from({ length: rows }, () => row)];
      const batch: Batch = { variant, rows, inputs };
      bench(`${rows} rows of ${Math.round(row.length / 1000)} KB`, async () => {
        await executor.run(0, batch);
      });
    }
  }
});

function identityVariant(width: number): VariantModel {
  const name = `identity-${width}`;
  const path = join(folder, `${name}.onnx`);
  writeFileSync(path, identityModel(width));
  const shape = [-1, width];
  return {
    name,
    path,
    inputs: [{ name: "x", dtype: "float32", shape }],
    outputs: [{ name: "y", dtype: "float32", shape }],
    warmBatches: [1],
  };
}

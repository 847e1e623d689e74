/**
 * One batch to a worker process and back, through a model that computes nothing: what the boundary
 * between processes costs.
 */

import type { Batch } from "stratagem-runtime/internal/exec/models/executor";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { afterAll, bench, describe } from "vitest";
import { identityVariant, POOL_URL } from "../../test/runtime/exec/built-executor.ts";

/** Float32 numbers in a row: 12 KB, a small image; 602 KB, one of 224 × 224. */
const WIDTHS = [3072, 150_528];

type PoolModule = typeof import("stratagem-runtime/internal/exec/pool/worker-pool");
// Workers are processes, which run compiled files only.
const { startExecutor }: PoolModule = await import(POOL_URL);

const executor = await startExecutor(
  {
    variants: WIDTHS.map((width) => identityVariant(`identity-${width}`, width)),
    workerCount: 1,
    standbyCount: 0,
    threadsPerWorker: 1,
    devices: devicesOn("cpu", 1),
  },
  { onReady: () => {}, onLost: () => {} },
);

afterAll(() => executor.close());

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

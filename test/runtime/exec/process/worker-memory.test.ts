/** The memory that workers may have where nobody says it, and how messages name it. */

import { totalmem } from "node:os";
import { defaultDevice } from "stratagem-runtime/internal/exec/models/worker-device";
import { expect, test } from "vitest";
import type { VariantModel } from "../../../../runtime/exec/models/executor.ts";
import {
  withMemoryLimit,
  workerMemoryBytes,
} from "../../../../runtime/exec/process/worker-memory.ts";

const GIB = 2 ** 30;

function setupOf(device: "cpu" | "cuda", fileBytes: number, warmCores: readonly number[]) {
  const variant: VariantModel = {
    name: "one",
    path: "one.onnx",
    opened: { fd: 0, bytes: fileBytes, sha256: "" },
    inputs: [{ name: "x", dtype: "float32", shape: [-1, 1024] }],
    outputs: [],
    warmBatches: [1, 16],
    warmCores,
  };
  const common = { threads: 1, trying: false, keptModels: null };
  return { ...common, on: defaultDevice(device), variants: [variant] };
}

test("small models may have 4 GiB, or a quarter of the machine", () => {
  expect(workerMemoryBytes(setupOf("cpu", 1e6, [1]))).toBe(Math.max(4 * GIB, totalmem() / 4));
});

test("large ones may have what their sessions need", () => {
  // Two sessions and one while it changes, each four files and 64 batches of 16 rows of 8 kB.
  const need = GIB + 3 * (4 * 64 * GIB + 64 * 16 * 8192);
  expect(workerMemoryBytes(setupOf("cpu", 64 * GIB, [1, 2]))).toBe(need);
});

test("there is no limit on an accelerator", () => {
  expect(workerMemoryBytes(setupOf("cuda", 1e6, [1]))).toBeNull();
});

test("messages name the limit where memory may be the cause, and only there", () => {
  const named = (reason: string) => withMemoryLimit(reason, 2.5 * GIB);
  expect(named("std::bad_alloc")).toBe("std::bad_alloc; the memory limit of a worker is 2.5 GiB");
  expect(named("Failed to allocate memory")).toContain("2.5 GiB");
  expect(named("signal SIGABRT")).toBe(
    "signal SIGABRT; the memory limit of a worker is 2.5 GiB, 0.5 GiB of it for JavaScript objects",
  );
  expect(withMemoryLimit("signal SIGABRT", 2 ** 28)).toMatch(/is 0\.3 GiB$/);
  expect(named("signal SIGKILL")).toBe("signal SIGKILL");
  expect(withMemoryLimit("std::bad_alloc", null)).toBe("std::bad_alloc");
});

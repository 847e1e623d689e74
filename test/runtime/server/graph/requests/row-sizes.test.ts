/** Rows of several sizes at a task: padding, and the parts of a batch. */
import { describe, expect, test } from "vitest";
import {
  type Batch,
  type BatchResult,
  type Executor,
  InferenceError,
  type OnComputed,
  RowsRefusedError,
  WorkerLostError,
} from "../../../../../runtime/exec/models/executor.ts";
import type {
  PipelineQuery,
  PipelineRequest,
} from "../../../../../runtime/server/graph/requests/pipeline-request.ts";
import { PipelineQuery as Query } from "../../../../../runtime/server/graph/requests/pipeline-request.ts";
import {
  fitToSizes,
  partsOf,
  runBySize,
} from "../../../../../runtime/server/graph/requests/row-sizes.ts";
import type {
  PipelineServedVariant,
  TaskSignature,
} from "../../../../../runtime/server/graph/signature/pipeline-signature.ts";

const REQUEST = {} as PipelineRequest;
const floats = (values: readonly number[]) => new Uint8Array(new Float32Array(values).buffer);
const numbers = (bytes: Uint8Array) => [...new Float32Array(Uint8Array.from(bytes).buffer)];

const TASK = {
  name: "task",
  inputs: ["ids", "mask"].map((name) => ({ name, datatype: "FP32", rowShape: [-1] })),
  axes: [{ inputs: [0, 1].map((input) => ({ input, axis: 1 })), sizes: [2, 4], padding: 9 }],
} as unknown as TaskSignature;

describe("padding", () => {
  test.each([
    [1, 1, 0, [1, 9], [1, 9]],
    [2, 2, 0, [1, 1], [1, 1]],
    // All inputs of an axis get the size that holds the largest.
    [1, 3, 1, [1, 9, 9, 9], [1, 1, 1, 9]],
  ])("rows of %i and %i get the sizes of bucket %i", (ids, mask, bucket, first, second) => {
    const ones = (size: number) => floats(new Array<number>(size).fill(1));
    const query = new Query(REQUEST, 0, null, [ones(ids), ones(mask)]);
    expect(fitToSizes(query, TASK, [[ids], [mask]])).toBeUndefined();
    expect(query.bucket).toBe(bucket);
    expect(query.inputs.map(numbers)).toEqual([first, second]);
  });

  test("a size above all is described", () => {
    const query = new Query(REQUEST, 0, null, [floats([1]), floats([1, 1, 1, 1, 1])]);
    expect(fitToSizes(query, TASK, [[1], [5]])).toBe(
      'task: its input "mask" has the size 5, expected at most 4',
    );
  });
});

const VARIANT = { name: "small", inputOrder: [0] } as unknown as PipelineServedVariant;

function queryOf(bucket: number, value: number): PipelineQuery {
  const query = new Query(REQUEST, 0, null, [floats([value])]);
  query.bucket = bucket;
  return query;
}

interface Ran {
  readonly bucket: number | undefined;
  readonly values: readonly number[];
}

/** An executor that returns its inputs, or fails a bucket. */
function executorOf(ran: Ran[], failing?: { bucket: number; error: Error }): Executor {
  return {
    async run(_worker: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
      const { bucket, rows } = batch;
      const bytes = new Uint8Array(Buffer.concat([...(batch.inputs[0] ?? [])]));
      ran.push({ bucket, values: numbers(bytes) });
      if (failing?.bucket === bucket && failing !== undefined) throw failing.error;
      onComputed?.(5);
      return { outputs: [{ shape: [rows, 1], bytes }], wallMs: 5, cpuMs: 4, cores: 1 };
    },
    close: async () => {},
  };
}

const QUERIES = [queryOf(1, 10), queryOf(0, 20), queryOf(1, 30), queryOf(2, 40)];
const batchOf = (isOpen = () => true) => ({ worker: 0, variant: 3, queries: QUERIES, isOpen });

describe("parts of a batch", () => {
  test("rows of each size run on their own, and the worker is free after the last", async () => {
    const ran: Ran[] = [];
    const computed: (number | undefined)[] = [];
    const result = await runBySize(executorOf(ran), VARIANT, batchOf(), (ms) => computed.push(ms));
    expect(ran).toEqual([
      { bucket: 1, values: [10, 30] },
      { bucket: 0, values: [20] },
      { bucket: 2, values: [40] },
    ]);
    expect(computed).toEqual([15]);
    expect(result).toMatchObject({ wallMs: 15, cpuMs: 12, cores: 1 });
    expect(partsOf(result, 4).map(({ rows }) => rows)).toEqual([[0, 2], [1], [3]]);
  });

  test("a whole result is one part", () => {
    const result = { outputs: [], wallMs: 1, cpuMs: 1, cores: 1 };
    expect(partsOf(result, 3)).toEqual([{ rows: [0, 1, 2], result }]);
  });

  test.each([
    ["rows", new RowsRefusedError("small", "bad", [1]), [2], true],
    ["the model", new InferenceError("small", "bad"), [0, 2], false],
  ])("a part that fails for %s names its rows in the batch", async (_, error, rows, isRefusal) => {
    const run = runBySize(executorOf([], { bucket: 1, error }), VARIANT, batchOf(), () => {});
    await expect(run).rejects.toThrow(RowsRefusedError);
    await expect(run).rejects.toMatchObject({ rows, isRefusal, message: "small: bad" });
  });

  test("a worker that is lost gets no further part", async () => {
    const ran: Ran[] = [];
    const isOpen = () => ran.length === 0;
    const run = runBySize(executorOf(ran), VARIANT, batchOf(isOpen), () => {});
    await expect(run).rejects.toThrow(WorkerLostError);
    expect(ran).toHaveLength(1);
  });
});

/** Sizes of rows at tasks whose inputs have axes of several sizes: padding, and batches by size. */
import {
  type Batch,
  type BatchResult,
  type Executor,
  InferenceError,
  type OnComputed,
  RowsRefusedError,
  WorkerLostError,
} from "../../../exec/models/executor.ts";
import { bucketOf, paddedRows, paddingOf } from "../../tensors/padding.ts";
import {
  at,
  type PipelineServedVariant,
  type TaskSignature,
} from "../signature/pipeline-signature.ts";
import { batchInputs } from "./batch-tensors.ts";
import type { PipelineQuery } from "./pipeline-request.ts";

/** Shape of one row. */
type RowShape = readonly number[];

/**
 * Pads the inputs of a query to the smallest sizes that hold them, and notes the sizes.
 * @param shapes of the row in each input.
 * @returns as text, which size is too large.
 */
export function fitToSizes(
  query: PipelineQuery,
  { name, inputs, axes }: TaskSignature,
  shapes: readonly RowShape[],
): string | undefined {
  const found: number[] = [];
  const targets = shapes.map((shape) => [...shape]);
  for (const { inputs: places, sizes } of axes) {
    const own = places.map(({ input, axis }) => at(shapes, input)[axis - 1] ?? 0);
    const size = sizes.find((one) => one >= Math.max(...own));
    if (size === undefined) {
      const input = at(inputs, at(places, own.indexOf(Math.max(...own))).input).name;
      const expected = `expected at most ${sizes.at(-1)}`;
      return `${name}: its input "${input}" has the size ${Math.max(...own)}, ${expected}`;
    }
    found.push(size);
    for (const { input, axis } of places) at(targets, input)[axis - 1] = size;
  }
  query.bucket = bucketOf(axes, found);
  query.inputs = query.inputs.map((bytes, input) => {
    const [from, to] = [at(shapes, input), at(targets, input)];
    if (from.join() === to.join()) return bytes;
    const { datatype } = at(inputs, input);
    return paddedRows(datatype, bytes, 1, { from, to, padding: paddingOf(axes, input) });
  });
  return undefined;
}

/** Rows of a batch that have the same sizes, and their outputs. */
export interface SizedPart {
  /** Places of the rows in the batch. */
  readonly rows: readonly number[];
  readonly result: BatchResult;
}

/** A result whose rows have several sizes; its times are sums, and its parts have the outputs. */
export interface SizedResult extends BatchResult {
  readonly parts: readonly SizedPart[];
}

/** Returns the parts of a result; the whole result where all rows have the same sizes. */
export function partsOf(result: BatchResult, rows: number): readonly SizedPart[] {
  if ("parts" in result) return (result as SizedResult).parts;
  return [{ rows: Array.from({ length: rows }, (_, row) => row), result }];
}

/** The batch of a worker, without the tensors of its queries. */
interface SizedBatch extends Pick<Batch, "p99Ms" | "deadlineMs"> {
  readonly worker: number;
  readonly variant: number;
  readonly queries: readonly PipelineQuery[];
  /** Whether the worker still has the batch. */
  readonly isOpen: () => boolean;
}

/**
 * Runs a batch in parts of equal sizes, one after the other, so that no answer depends on the other
 * rows of its batch.
 * @param onComputed called when the worker has computed the last part.
 * @throws RowsRefusedError for the rows of a part that fails; otherwise as the executor does.
 */
export async function runBySize(
  executor: Executor,
  variantOf: PipelineServedVariant,
  { worker, variant, queries, isOpen, p99Ms, deadlineMs }: SizedBatch,
  onComputed: OnComputed,
): Promise<SizedResult> {
  const rowsByBucket = new Map<number, number[]>();
  for (const [row, { bucket }] of queries.entries()) {
    const known = rowsByBucket.get(bucket);
    if (known === undefined) rowsByBucket.set(bucket, [row]);
    else known.push(row);
  }
  const parts: SizedPart[] = [];
  let [wallMs, cpuMs, cores] = [0, 0, 1];
  for (const [bucket, rows] of rowsByBucket) {
    if (!isOpen()) throw new WorkerLostError(worker, "it ended between parts of a batch");
    const own = rows.map((row) => at(queries, row));
    const inputs = batchInputs(variantOf, own);
    const batch = {
      variant,
      rows: rows.length,
      bucket,
      inputs,
      p99Ms,
      ...(deadlineMs !== undefined && { deadlineMs }),
    };
    const isLast = parts.length === rowsByBucket.size - 1;
    const beforeMs = wallMs;
    const onDone: OnComputed = (ranMs) =>
      onComputed(ranMs === undefined ? ranMs : beforeMs + ranMs);
    const result = await executor
      .run(worker, batch, isLast ? onDone : undefined)
      .catch((error: unknown) => {
        throw error instanceof InferenceError ? ofPart(error, variantOf, rows) : error;
      });
    parts.push({ rows, result });
    wallMs += result.wallMs;
    cpuMs += result.cpuMs;
    cores = result.cores;
  }
  return { outputs: [], wallMs, cpuMs, cores, parts };
}

/** Describes an error of a part by the rows of the batch. */
function ofPart(
  error: InferenceError,
  { name }: PipelineServedVariant,
  rows: readonly number[],
): RowsRefusedError {
  const own = error instanceof RowsRefusedError ? error.rows.map((row) => at(rows, row)) : rows;
  return new RowsRefusedError(name, error.reason, own, error.isRefusal);
}

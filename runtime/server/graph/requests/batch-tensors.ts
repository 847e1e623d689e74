/** The tensors of a batch: put together from its queries, and cut at its rows. */
import type { BatchResult } from "../../../exec/models/executor.ts";
import { joined } from "../../requests/request.ts";
import { elementCountOf, rowBounds } from "../../tensors/tensors.ts";
import {
  at,
  type PipelineServedVariant,
  type PipelineSignature,
  type TaskSignature,
} from "../signature/pipeline-signature.ts";

/** Rows of a tensor in one piece of memory. */
export interface TensorPart {
  readonly rows: number;
  readonly rowShape: readonly number[];
  readonly bytes: Uint8Array;
}

export class CutOutput {
  readonly rowShape: readonly number[];
  readonly #bytes: Uint8Array;
  /** Start of each row of the tensor and, last, the end. */
  readonly #bounds: readonly number[];
  /**
   * The first row here of each row of the batch and, last, their number; null if each row has one.
   */
  readonly #firstRows: readonly number[] | null;

  constructor(
    rowShape: readonly number[],
    bytes: Uint8Array,
    bounds: readonly number[],
    firstRows: readonly number[] | null,
  ) {
    this.rowShape = rowShape;
    this.#bytes = bytes;
    this.#bounds = bounds;
    this.#firstRows = firstRows;
  }

  part(batchRow: number): TensorPart {
    const first = this.#firstRow(batchRow);
    const end = this.#firstRow(batchRow + 1);
    return { rows: end - first, rowShape: this.rowShape, bytes: this.#rows(first, end) };
  }

  /** One of the rows that belong to a row of the batch. */
  row(batchRow: number, position: number): Uint8Array {
    const row = this.#firstRow(batchRow) + position;
    return this.#rows(row, row + 1);
  }

  /** The number that belongs to a row of the batch, of an int64 output with one each. */
  integer(batchRow: number): number {
    const bytes = this.row(batchRow, 0);
    return Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true));
  }

  #firstRow(batchRow: number): number {
    return this.#firstRows === null ? batchRow : (this.#firstRows[batchRow] ?? 0);
  }

  #rows(first: number, end: number): Uint8Array {
    return this.#bytes.subarray(this.#bounds[first], this.#bounds[end]);
  }
}

/** Per input of the variant the bytes of the queries, in order. */
export function batchInputs(
  { inputOrder }: PipelineServedVariant,
  queries: readonly { readonly inputs: readonly Uint8Array[] }[],
): (readonly Uint8Array[])[] {
  return inputOrder.map((input) => joined(queries.map(({ inputs }) => at(inputs, input))));
}

/**
 * Describes which output does not fit an input of a following task; a dimension may have been open
 * until now.
 */
export function misfit(
  { tasks }: PipelineSignature,
  { edgesAway }: TaskSignature,
  cut: readonly CutOutput[],
): string | undefined {
  for (const { child, feed, isGather } of edgesAway) {
    const { name, inputs } = at(tasks, child);
    for (const [input, output] of feed?.outputByInput.entries() ?? []) {
      if (output === null) continue;
      const { rowShape } = at(inputs, input);
      // Gathered rows form one row along an additional axis.
      const [expected, found] = [isGather ? rowShape.slice(1) : rowShape, at(cut, output).rowShape];
      if (
        expected.length === found.length &&
        expected.every((size, axis) => size === found[axis] || size < 0)
      ) {
        continue;
      }
      return (
        `rows of shape [${found.join(", ")}] for input "${at(inputs, input).name}" of ` +
        `${name}, expected [${expected.join(", ")}]`
      );
    }
  }
  return undefined;
}

/** @returns in the order of the task's outputs; or, as text, what is wrong with them. */
export function cutOutputs(
  { outputs, gates }: TaskSignature,
  { outputOrder, countByOutput }: PipelineServedVariant,
  result: BatchResult,
  batchRows: number,
): readonly CutOutput[] | string {
  const firstRowsByCount = new Map<number, readonly number[]>();
  for (const count of countByOutput) {
    if (count === null || firstRowsByCount.has(count)) continue;
    const { name } = at(outputs, count);
    const tensor = result.outputs[at(outputOrder, count)];
    const firstRows = tensor === undefined ? undefined : sums(tensor.bytes, batchRows);
    if (firstRows === undefined) return `"${name}" does not count rows for ${batchRows} rows`;
    firstRowsByCount.set(count, firstRows);
  }
  const cut: CutOutput[] = [];
  for (const [index, { name, datatype }] of outputs.entries()) {
    const tensor = result.outputs[at(outputOrder, index)];
    const count = at(countByOutput, index);
    let firstRows = count === null ? null : (firstRowsByCount.get(count) ?? null);
    const isGate = count !== null && gates.includes(count);
    if (firstRows !== null && isGate && tensor?.shape[0] === batchRows) {
      const largest = largestIfUnclear(firstRows);
      if (largest !== null) {
        return `output "${at(outputs, count).name}" counts ${largest} for a row, expected 0 or 1`;
      }
      firstRows = null;
    }
    const rows = firstRows === null ? batchRows : (firstRows[batchRows] ?? 0);
    if (tensor === undefined || tensor.shape[0] !== rows) {
      return `output "${name}" has the shape [${tensor?.shape.join(", ")}], expected ${rows} rows`;
    }
    const rowShape = tensor.shape.slice(1);
    const bounds = rowBounds(datatype, tensor.bytes, rows, elementCountOf(rowShape));
    if (bounds === undefined) return `output "${name}" does not have the bytes of ${rows} rows`;
    cut.push(new CutOutput(rowShape, tensor.bytes, bounds, firstRows));
  }
  return cut;
}

/**
 * The largest count, if as many rows are counted as the batch has, yet not one for each; otherwise
 * null.
 */
function largestIfUnclear(firstRows: readonly number[]): number | null {
  if (firstRows.at(-1) !== firstRows.length - 1) return null;
  const largest = Math.max(...firstRows.slice(1).map((end, row) => end - at(firstRows, row)));
  return largest > 1 ? largest : null;
}

/**
 * Sums of the counts before each row and, last, of all.
 * @param counts int64.
 * @returns undefined if they are not one each, 0 or more.
 */
function sums(counts: Uint8Array, rows: number): number[] | undefined {
  if (counts.length !== 8 * rows) return undefined;
  const view = new DataView(counts.buffer, counts.byteOffset, counts.length);
  const firstRows = [0];
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    const count = Number(view.getBigInt64(8 * row, true));
    if (count < 0 || count > 2 ** 31) return undefined;
    sum += count;
    firstRows.push(sum);
  }
  return firstRows;
}

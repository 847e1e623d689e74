/** Converts between a variant's tensors and the model's own. */
import type { AdaptedInput, AdaptedOutput, ModelAdapter, TensorInfo } from "../../bundle/schema.ts";
import { bucketSizes, rowShapeIn } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import type { VariantModel } from "../models/executor.ts";
import type { Tensor } from "../tensors/onnxruntime.ts";
import { encodeStrings } from "../tensors/string-data.ts";
import { tensorData } from "../tensors/tensor-data.ts";
import { rowsMovedFrom, rowsMovedTo } from "./moved-rows.ts";
import { numbersOf } from "./numbers.ts";
import { type FormedOutput, inForm } from "./output-forms.ts";
import { imageSize, isChannelsLast, resized } from "./resized.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export class AdaptedModel {
  readonly #variant: VariantModel;
  readonly #adapter: ModelAdapter;

  constructor(variant: VariantModel, adapter: ModelAdapter) {
    this.#variant = variant;
    this.#adapter = adapter;
  }

  /** Returns the inputs under the model's own names and shapes. */
  get modelInputs(): readonly TensorInfo[] {
    return this.#adapter.inputs;
  }

  /** Names of the outputs to fetch from the model, each once. */
  get outputNames(): string[] {
    return [...new Set(this.#adapter.outputs.map(({ name }) => name))];
  }

  /**
   * @param inputs inputs of the variant, in its order, with rows as axis 0.
   * @throws RangeError if the bytes are not so many rows of that bucket.
   */
  feeds(rows: number, inputs: readonly Bytes[], bucket: number): Record<string, Tensor> {
    const { maxRows } = this.#adapter;
    if (maxRows !== null && rows > maxRows) {
      throw new RangeError(`expected at most ${maxRows} rows in a batch, got ${rows}`);
    }
    const feeds: Record<string, Tensor> = {};
    for (const input of this.#adapter.inputs) {
      feeds[input.name] = this.#feed(input, rows, inputs, bucket);
    }
    return feeds;
  }

  /** @throws RangeError if an output has another number of rows. */
  outputs(
    rows: number,
    fetched: Readonly<Record<string, Tensor>>,
    mayHaveOtherRows: boolean,
  ): FormedOutput[] {
    return this.#adapter.outputs.map((output) => {
      const tensor = fetched[output.name];
      if (tensor === undefined) throw new Error(`output "${output.name}" is missing`);
      return formedOutput(output, tensor, rows, mayHaveOtherRows);
    });
  }

  #feed(
    { name, dtype, shape, batchAxis, from, constant, resize }: AdaptedInput,
    rows: number,
    inputs: readonly Bytes[],
    bucket: number,
  ): Tensor {
    const data = tensorData(dtype);
    if (from === null) {
      const own = shape.map((size, axis) => (axis === batchAxis ? rows : size));
      return data.tensor(constantBytes(dtype, own, constant ?? 0), own);
    }
    const { inputs: infos, buckets = [] } = this.#variant;
    const info = infos[from];
    const bytes = inputs[from];
    assert(info !== undefined && bytes !== undefined, "an adapter names inputs that there are");
    const rowShape = rowShapeIn(infos, from, buckets, bucketSizes(buckets, bucket));
    const row = settled(rowShape, rows, data.count(bytes), name);
    const expected = rows * elementsOf(row);
    if (data.count(bytes) !== expected) {
      const found = `${data.count(bytes)} elements`;
      const allowed = `${expected}, ${rows} rows of [${row.join(", ")}]`;
      throw new RangeError(`input "${info.name}": expected ${allowed}, got ${found}`);
    }
    const isLast = isChannelsLast(shape.filter((_, axis) => axis !== batchAxis));
    const own = ownShape(row, shape, batchAxis, rows, resize === null ? null : isLast);
    const rowOfModel = own.filter((_, axis) => axis !== batchAxis);
    let content = bytes;
    if (resize !== null) {
      const [from, to] = [imageSize(row, isLast), imageSize(rowOfModel, isLast)];
      content = resized(content, dtype, from, to, resize);
    }
    if (batchAxis !== null && batchAxis > 0) {
      content = rowsMovedTo(batchAxis, content, rows, rowOfModel, data.elementBytes);
    }
    return data.tensor(content, own);
  }
}

/** Returns the shape of a row; one open axis follows from the number of elements. */
function settled(
  rowShape: readonly number[],
  rows: number,
  count: number,
  name: string,
): readonly number[] {
  const open = rowShape.filter((size) => size < 0).length;
  if (open === 0) return rowShape;
  const known = elementsOf(rowShape.filter((size) => size >= 0)) * rows;
  const size = count / known;
  if (open > 1 || !Number.isInteger(size)) {
    throw new RangeError(`input "${name}": ${count} elements do not fill [${rowShape.join(", ")}]`);
  }
  return rowShape.map((own) => (own < 0 ? size : own));
}

/**
 * Returns the shape that the model is fed.
 * @param isLast whether images have their channels last; null if they are not resized.
 */
function ownShape(
  row: readonly number[],
  shape: readonly number[],
  batchAxis: number | null,
  rows: number,
  isLast: boolean | null,
): number[] {
  const height = isLast === null ? Number.NaN : row.length - (isLast ? 3 : 2);
  let next = 0;
  return shape.map((size, axis) => {
    if (axis === batchAxis) return rows;
    const at = next++;
    return (at === height || at === height + 1) && size > 0 ? size : (row[at] ?? 1);
  });
}

function formedOutput(
  output: AdaptedOutput,
  { dims, data, type }: Tensor,
  rows: number,
  mayHaveOtherRows: boolean,
): FormedOutput {
  const { name, batchAxis } = output;
  const found = batchAxis === null ? 1 : dims[batchAxis];
  if (found !== rows && !(mayHaveOtherRows && batchAxis === 0)) {
    throw new RangeError(`output "${name}" has the shape [${dims.join(", ")}] for ${rows} rows`);
  }
  const row = dims.filter((_, axis) => axis !== batchAxis);
  const shape = [found ?? 1, ...row];
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength)
    : encodeStrings(data);
  const inFront =
    batchAxis === null || batchAxis === 0
      ? bytes
      : rowsMovedFrom(batchAxis, bytes, rows, row, bytes.length / Math.max(1, elementsOf(dims)));
  return inForm(output, type, shape, inFront);
}

function constantBytes(dtype: string, shape: readonly number[], value: number): Bytes {
  const count = elementsOf(shape);
  const bytes = tensorData(dtype).zeros(count);
  numbersOf(dtype, bytes).fill(value, 0, count);
  return bytes;
}

function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

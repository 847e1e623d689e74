/**
 * Selects the bucket of a request for models with axes of several sizes, and pads its rows to it.
 */
import { type BucketAxis, bucketSizes } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import { BadRequest } from "./bad-request.ts";
import { type ClientSignature, type ModelTensor, sizedRowShape } from "./signature.ts";
import { DATATYPES, type Datatype, elementBytesOf, elementCountOf } from "./tensors.ts";

type Sized = Pick<ClientSignature, "inputs" | "axes">;

/** The sizes that a request has of each of the axes; all inputs that have an axis agree. */
export class FoundSizes {
  readonly #axes: readonly BucketAxis[];
  readonly #sizes: number[] = [];

  constructor({ axes = [] }: Pick<ClientSignature, "axes">) {
    this.#axes = axes;
  }

  /** One size for each axis, once all inputs are known. */
  get sizes(): readonly number[] {
    return this.#sizes;
  }

  /**
   * Takes the size that an input has of an axis which is open.
   * @param axis of the input, 0 being the rows. @param path of the size, for messages.
   * @throws BadRequest unless some bucket holds it and it is as inputs before have it.
   */
  take(input: number, axis: number, size: unknown, path: string): number {
    const at = this.#axes.findIndex(({ inputs }) =>
      inputs.some((place) => place.input === input && place.axis === axis),
    );
    const { sizes = [] } = this.#axes[at] ?? {};
    const largest = sizes[sizes.length - 1] ?? 0;
    if (typeof size !== "number" || !Number.isInteger(size) || size < 1 || size > largest) {
      const allowed = sizes.length === 1 ? `${largest}` : `the next of ${sizes.join(", ")}`;
      throw new BadRequest(path, `expected 1 to ${largest}, which is padded to ${allowed}`, size);
    }
    const known = this.#sizes[at];
    if (known !== undefined && known !== size) {
      throw new BadRequest(path, `expected ${known}, as in the previous input`, size);
    }
    this.#sizes[at] = size;
    return size;
  }
}

/** The bucket with the smallest size of each axis that holds the one found. */
export function bucketOf(axes: readonly BucketAxis[], found: readonly number[]): number {
  return axes.reduce((bucket, { sizes }, at) => {
    const index = sizes.findIndex((size) => size >= (found[at] ?? 0));
    assert(index >= 0, "a bucket holds what was found");
    return bucket * sizes.length + index;
  }, 0);
}

export function bucketRowShape(signature: Sized, input: number, bucket: number): readonly number[] {
  return sizedRowShape(signature, input, bucketSizes(signature.axes ?? [], bucket));
}

/** The shape of the largest row that an input may have. */
export function largestRowShape({ rowShape, largest }: ModelTensor): readonly number[] {
  return largest ?? rowShape;
}

export interface PaddedInputs {
  readonly bucket: number;
  /**
   * Inputs in the order of the signature; inputs that already have the bucket's sizes are not
   * copied.
   */
  readonly inputs: readonly Uint8Array[];
  /** Elements that were filled in, of how many. */
  readonly filled: number;
  readonly elements: number;
}

/**
 * Pads the rows of a request to the bucket that holds them.
 * @param sizes found of each axis. @param take called with the additional bytes.
 */
export function paddedInputs(
  signature: Sized,
  { rows, inputs }: { readonly rows: number; readonly inputs: readonly Uint8Array[] },
  sizes: readonly number[],
  take: (bytes: number) => void,
): PaddedInputs {
  const { axes = [] } = signature;
  const bucket = bucketOf(axes, sizes);
  let [filled, elements] = [0, 0];
  const padded = inputs.map((bytes, input) => {
    const tensor = signature.inputs[input];
    assert(tensor !== undefined, "a request has the inputs of the model");
    const from = sizedRowShape(signature, input, sizes);
    const to = bucketRowShape(signature, input, bucket);
    const [own, whole] = [rows * elementCountOf(from), rows * elementCountOf(to)];
    elements += whole;
    if (own === whole) return bytes;
    filled += whole - own;
    const { elementBytes } = DATATYPES[tensor.datatype];
    take((whole - own) * (elementBytes || EMPTY_TEXT_BYTES));
    return paddedRows(tensor.datatype, bytes, rows, { from, to, padding: paddingOf(axes, input) });
  });
  return { bucket, inputs: padded, filled, elements };
}

/** Padding value of the first open axis of an input. */
export function paddingOf(axes: readonly BucketAxis[], input: number): number {
  const axis = axes.find(({ inputs }) => inputs.some((place) => place.input === input));
  return axis?.padding ?? 0;
}

/** A text without characters is its length. */
const EMPTY_TEXT_BYTES = 4;

interface Fill {
  /** Shapes of a row before and after padding; no axis becomes shorter. */
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly padding: number;
}

/**
 * Copies row-major rows to a larger shape: each row is at the start of every axis, and the rest has
 * the padding value, or empty texts.
 */
export function paddedRows(
  datatype: Datatype,
  bytes: Uint8Array,
  rows: number,
  { from, to, padding }: Fill,
): Uint8Array {
  const { elementBytes } = DATATYPES[datatype];
  if (elementBytes === 0) return paddedTexts(bytes, rows, from, to);
  const size = rows * elementCountOf(to) * elementBytes;
  const filled = new Uint8Array(size);
  const element = elementBytesOf(datatype, padding);
  if (element.some((byte) => byte !== 0)) {
    for (let at = 0; at < size; at += elementBytes) filled.set(element, at);
  }
  eachRun([rows, ...from], [rows, ...to], (source, target, count) => {
    const begin = source * elementBytes;
    filled.set(bytes.subarray(begin, begin + count * elementBytes), target * elementBytes);
  });
  return filled;
}

function paddedTexts(
  bytes: Uint8Array,
  rows: number,
  from: readonly number[],
  to: readonly number[],
): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const bounds = [0];
  for (let at = 0; at < bytes.length; ) {
    at += 4 + view.getUint32(at, true);
    bounds.push(at);
  }
  const empty = new Uint8Array(EMPTY_TEXT_BYTES);
  const parts = new Array<Uint8Array>(rows * elementCountOf(to)).fill(empty);
  eachRun([rows, ...from], [rows, ...to], (source, target, count) => {
    for (let index = 0; index < count; index++) {
      parts[target + index] = bytes.subarray(bounds[source + index], bounds[source + index + 1]);
    }
  });
  return Buffer.concat(parts);
}

/**
 * Calls back for each run of elements that are contiguous in both shapes, with its start in either
 * and its length; the second shape is nowhere smaller.
 */
function eachRun(
  from: readonly number[],
  to: readonly number[],
  act: (source: number, target: number, count: number) => void,
): void {
  const rank = from.length;
  let inner = rank;
  while (inner > 0 && from[inner - 1] === to[inner - 1]) inner--;
  // The axis before those that agree is the last one on which a run may end.
  const runAxis = Math.max(0, inner - 1);
  const count = elementCountOf(from.slice(runAxis));
  const stride = elementCountOf(to.slice(runAxis));
  const outer = from.slice(0, runAxis);
  const runs = elementCountOf(outer);
  for (let run = 0; run < runs; run++) {
    let [rest, target, step] = [run, 0, 1];
    for (let axis = runAxis - 1; axis >= 0; axis--) {
      const own = outer[axis] ?? 1;
      target += (rest % own) * step;
      rest = Math.floor(rest / own);
      step *= to[axis] ?? 1;
    }
    act(run * count, target * stride, count);
  }
}

/** Reads the predicted class of each row from the answer of a classifier, and judges it. */
import { BadRequest } from "./bad-request.ts";
import type { ClientOutput, ClientSignature } from "./signature.ts";
import { type Datatype, elementCountOf, elementReader } from "./tensors.ts";

/** True class of a row, by name or index. */
export type Label = string | number;

/** Class of one row by index, name or both. */
export interface Prediction {
  readonly index?: number;
  readonly name?: string;
}

/** Longer texts are not taken for names of classes. */
const LONGEST_NAME = 256;
/** Classification in Triton's format: `value:index` or `value:index:name`. */
const TRITON_CLASS = /^-?(?:\d+\.\d+|nan|inf):(\d{1,9})(?::(.*))?$/s;

/** Tensor of an answer: its shape and its bytes, in order. */
interface OutputTensor {
  readonly shape: readonly number[];
  readonly parts: readonly Uint8Array[];
}

interface ClassOutput {
  /** Position among the model's outputs. */
  readonly index: number;
  readonly datatype: Datatype;
  /** Number of classes to choose from; undefined if the output is the class itself or its name. */
  readonly classes: number | undefined;
}

/** Reads predicted classes from a model's answers. */
export class PredictionReader {
  readonly #outputs: readonly ClassOutput[];
  readonly #areRows: boolean;

  constructor({
    outputs,
    outputsAreRows = true,
  }: Pick<ClientSignature, "outputs" | "outputsAreRows">) {
    const found = outputs.flatMap((output, index) => classOutput(output, index));
    // Prefers an output with the class over one with scores.
    const explicit = found.filter(({ classes }) => classes === undefined);
    const candidates = explicit.length > 0 ? explicit : found;
    const isOne = new Set(candidates.map(({ classes }) => classes)).size === 1;
    this.#outputs = isOne ? candidates : [];
    this.#areRows = outputsAreRows;
  }

  /** Whether an output may have one class per row. */
  get hasClasses(): boolean {
    return this.#outputs.length > 0;
  }

  /** Number of classes; undefined if the outputs do not define it. */
  get classes(): number | undefined {
    return this.#outputs[0]?.classes;
  }

  /**
   * @returns a prediction per row of the request; undefined if the answer does not have one class
   * per row.
   */
  read(
    { outputs }: { readonly outputs: readonly OutputTensor[] },
    rows: number,
  ): readonly Prediction[] | undefined {
    if (!this.#areRows && rows !== 1) return undefined;
    // If rows end at one of several tasks, the last task that a row reached decides.
    for (const { index, datatype, classes } of this.#outputs.toReversed()) {
      const output = outputs[index];
      if (output?.shape[0] === rows) {
        return predictionsOf(output, datatype, classes ?? 1, rows);
      }
    }
    return undefined;
  }
}

/**
 * Returns whether a prediction is right. @param classes number of them; undefined if not known.
 * @param path of the label in messages.
 * @throws BadRequest if the class does not exist, or classes have no index or no name.
 */
export function agrees(
  label: Label,
  { index, name }: Prediction,
  classes: number | undefined,
  path: string,
): boolean {
  if (typeof label === "string") {
    if (name === undefined) throw new BadRequest(path, "expected the index of a class", label);
    return label === name;
  }
  if (index === undefined) throw new BadRequest(path, "expected the name of a class", label);
  if (classes !== undefined && (label < 0 || label >= classes)) {
    const expected = `expected the index of a class, 0 to ${classes - 1}`;
    throw new BadRequest(path, expected, label);
  }
  return label === index;
}

function classOutput(output: ClientOutput, index: number): ClassOutput[] {
  const { datatype, rowShape, isInternal = false } = output;
  if (isInternal || datatype === "BF16" || datatype === "BOOL") return [];
  if (rowShape.some((size) => size < 1)) return [];
  const elements = elementCountOf(rowShape);
  // More than one axis longer than 1 means an image, a sequence or a list of boxes.
  if (rowShape.filter((size) => size > 1).length > 1) return [];
  if (datatype === "BYTES") return [{ index, datatype, classes: undefined }];
  if (elements > 1) return [{ index, datatype, classes: elements }];
  return isInteger(datatype) ? [{ index, datatype, classes: undefined }] : [];
}

function isInteger(datatype: Datatype): boolean {
  return datatype.startsWith("INT") || datatype.startsWith("UINT");
}

function predictionsOf(
  { parts, shape }: OutputTensor,
  datatype: Datatype,
  elements: number,
  rows: number,
): readonly Prediction[] | undefined {
  const [only] = parts;
  const bytes = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
  if (datatype === "BYTES") return namedPredictions(bytes, shape, rows);
  if (datatype === "BF16" || elementCountOf(shape) !== rows * elements) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const read = elementReader(datatype, view);
  return Array.from({ length: rows }, (_, row) => {
    if (elements === 1) return { index: Number(read(row)) };
    return { index: largestAt(read, row * elements, elements) };
  });
}

/** Index of the largest element, the lowest of equals; NaN counts as the least. */
function largestAt(
  read: (index: number) => number | bigint | boolean,
  first: number,
  elements: number,
): number {
  let [largest, value] = [0, Number.NEGATIVE_INFINITY];
  for (let index = 0; index < elements; index++) {
    const own = Number(read(first + index));
    if (own > value) [largest, value] = [index, own];
  }
  return largest;
}

/** Takes the first text of each row. */
function namedPredictions(
  bytes: Uint8Array,
  shape: readonly number[],
  rows: number,
): readonly Prediction[] {
  const perRow = elementCountOf(shape) / rows;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const predictions: Prediction[] = [];
  for (let at = 0, element = 0; at < bytes.length; element++) {
    const end = at + 4 + view.getUint32(at, true);
    if (element % perRow === 0) predictions.push(namedPrediction(buffer, at + 4, end));
    at = end;
  }
  return predictions;
}

function namedPrediction(buffer: Buffer, begin: number, end: number): Prediction {
  if (end - begin > LONGEST_NAME) return {};
  const text = buffer.toString("utf8", begin, end);
  const match = TRITON_CLASS.exec(text);
  if (match === null) return { name: text };
  const [, index, name] = match;
  return { index: Number(index), ...(name === undefined ? {} : { name }) };
}

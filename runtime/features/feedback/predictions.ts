/** What an answer says, row by row, where it is a classification: a class, as labels name it. */
import type { Answer, OutputTensor } from "../../server/requests/request.ts";
import type { ClientOutput, ClientSignature } from "../../server/tensors/signature.ts";
import { type Datatype, elementCountOf, elementReader } from "../../server/tensors/tensors.ts";

/** Of one row; a text may name its class, be it beside the index. */
export interface Prediction {
  readonly index?: number;
  readonly name?: string;
}

/** Longer texts are no names of classes. */
const LONGEST_NAME = 256;
/** As Triton tells classes: `value:index` or `value:index:name`. */
const TOLD_CLASS = /^-?(?:\d+\.\d+|nan|inf):(\d{1,9})(?::(.*))?$/s;

interface ClassOutput {
  /** Among the outputs of the model. */
  readonly index: number;
  readonly datatype: Datatype;
  /** That a row chooses from; undefined where the output is the class itself, or its name. */
  readonly classes: number | undefined;
}

/** Reads the classes of the answers of a model. */
export class PredictionReader {
  readonly #outputs: readonly ClassOutput[];
  readonly #areRows: boolean;

  constructor({ outputs, outputsAreRows = true }: ClientSignature) {
    const found = outputs.flatMap((output, index) => classOutput(output, index));
    // The class itself says more than the numbers that it was chosen by.
    const told = found.filter(({ classes }) => classes === undefined);
    const candidates = told.length > 0 ? told : found;
    const isOne = new Set(candidates.map(({ classes }) => classes)).size === 1;
    this.#outputs = isOne ? candidates : [];
    this.#areRows = outputsAreRows;
  }

  /** How many classes there are; undefined where the outputs do not say. */
  get classes(): number | undefined {
    return this.#outputs[0]?.classes;
  }

  /**
   * @returns one for each row of the request; undefined where the answer is no class for each.
   */
  read({ outputs }: Pick<Answer, "outputs">, rows: number): readonly Prediction[] | undefined {
    if (!this.#areRows && rows !== 1) return undefined;
    // Where rows end at one of several tasks, the last that a row came to has decided.
    for (const { index, datatype, classes } of this.#outputs.toReversed()) {
      const output = outputs[index];
      if (output !== undefined && output.shape[0] === rows) {
        return predictionsOf(output, datatype, classes ?? 1, rows);
      }
    }
    return undefined;
  }
}

function classOutput(output: ClientOutput, index: number): ClassOutput[] {
  const { datatype, rowShape, isInternal = false } = output;
  if (isInternal || datatype === "BF16" || datatype === "BOOL") return [];
  if (rowShape.some((size) => size < 1)) return [];
  const elements = elementCountOf(rowShape);
  // More than one axis that counts is an image, a sequence or a list of boxes.
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

/** The lowest of those that are largest; what is no number is the least. */
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

/** The first text of each row. */
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
  const told = TOLD_CLASS.exec(text);
  if (told === null) return { name: text };
  const [, index, name] = told;
  return { index: Number(index), ...(name === undefined ? {} : { name }) };
}

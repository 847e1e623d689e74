/**
 * Forms that replace the raw numbers of an output, along its last axis, the classes: softmax, the
 * most likely classes, or the text of a line.
 */
import type { AdaptedOutput } from "../../bundle/schema.ts";
import { encodeStrings } from "../tensors/string-data.ts";
import { type Numbers, numbersOf } from "./numbers.ts";

export interface FormedOutput {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Digits of C's `%f`, with which Triton writes classes. */
const FRACTION_DIGITS = 6;

/** Returns the element type of an output in a form. */
export function formDtype(as: AdaptedOutput["as"], dtype: string): string {
  if (as === "tensor") return dtype;
  if (as === "argmax") return "int64";
  return as === "top-k" || as === "ctc" ? "string" : "float32";
}

/** Returns the shape of an output in a form, with rows as axis 0. */
export function formShape({ as, k }: Pick<AdaptedOutput, "as" | "k">, shape: readonly number[]) {
  if (as === "tensor" || as === "softmax") return shape;
  if (as === "argmax") return shape.slice(0, -1);
  if (as === "top-k") return [...shape.slice(0, -1), k ?? 1];
  return shape.slice(0, -2);
}

/**
 * @param bytes row-major, rows as axis 0.
 * @throws RangeError if the number of classes differs from the number of labels.
 */
export function inForm(
  output: AdaptedOutput,
  dtype: string,
  shape: readonly number[],
  bytes: Uint8Array<ArrayBuffer>,
): FormedOutput {
  if (output.as === "tensor") return { shape, bytes };
  const values = numbersOf(dtype, bytes);
  const classes = shape.at(-1) ?? 1;
  checkLabels(output, classes);
  const formed = formShape(output, shape);
  switch (output.as) {
    case "softmax":
      return { shape: formed, bytes: softmax(values, classes) };
    case "argmax":
      return { shape: formed, bytes: argmax(values, classes) };
    case "top-k":
      return { shape: formed, bytes: topClasses(values, classes, output) };
    default:
      return { shape: formed, bytes: readText(values, shape, output) };
  }
}

function checkLabels({ name, as, labels }: AdaptedOutput, classes: number): void {
  if (labels === null) return;
  const expected = as === "top-k" ? labels.length : labels.length + 1;
  if (classes === expected) return;
  const what = as === "top-k" ? `${labels.length} labels` : `${labels.length} labels and a blank`;
  throw new RangeError(`output "${name}" has ${classes} classes, expected ${expected}: ${what}`);
}

function softmax(values: Numbers, classes: number): Uint8Array<ArrayBuffer> {
  const result = new Float32Array(values.length);
  for (let first = 0; first < values.length; first += classes) {
    const most = values.get(first + indexOfLargest(values, first, classes));
    let sum = 0;
    for (let at = first; at < first + classes; at++) {
      const power = Math.exp(values.get(at) - most);
      result[at] = power;
      sum += power;
    }
    for (let at = first; at < first + classes; at++) result[at] = (result[at] ?? 0) / sum;
  }
  return new Uint8Array(result.buffer);
}

function argmax(values: Numbers, classes: number): Uint8Array<ArrayBuffer> {
  const result = new BigInt64Array(values.length / classes);
  for (let at = 0; at < result.length; at++) {
    result[at] = BigInt(indexOfLargest(values, at * classes, classes));
  }
  return new Uint8Array(result.buffer);
}

/** Writes `value:index` or `value:index:label`, largest first, in Triton's format. */
function topClasses(
  values: Numbers,
  classes: number,
  { k, labels }: AdaptedOutput,
): Uint8Array<ArrayBuffer> {
  const texts: string[] = [];
  for (let first = 0; first < values.length; first += classes) {
    const order = Array.from({ length: classes }, (_, index) => index);
    order.sort((a, b) => values.get(first + b) - values.get(first + a) || a - b);
    for (const index of order.slice(0, k ?? 1)) {
      const label = labels === null ? "" : `:${labels[index]}`;
      texts.push(`${values.get(first + index).toFixed(FRACTION_DIGITS)}:${index}${label}`);
    }
  }
  return encodeStrings(texts);
}

/**
 * Greedy decoding of connectionist temporal classification (Graves et al. 2006, §3.2, best path):
 * the likeliest class of each step, with repetitions merged and blanks removed; and the mean
 * probability of the remaining steps, 0 for an empty text.
 */
function readText(
  values: Numbers,
  shape: readonly number[],
  { as, labels, blank }: AdaptedOutput,
): Uint8Array<ArrayBuffer> {
  const [steps, classes] = [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
  const lines = values.length / (steps * classes);
  const texts: string[] = [];
  const confidences = new Float32Array(lines);
  for (let line = 0; line < lines; line++) {
    let text = "";
    let [sum, count, previous] = [0, 0, -1];
    for (let step = 0; step < steps; step++) {
      const first = (line * steps + step) * classes;
      const found = indexOfLargest(values, first, classes);
      if (found !== previous && found !== blank) {
        text += labels?.[found < (blank ?? 0) ? found : found - 1] ?? "";
        sum += values.get(first + found);
        count++;
      }
      previous = found;
    }
    texts.push(text);
    confidences[line] = count === 0 ? 0 : sum / count;
  }
  return as === "ctc" ? encodeStrings(texts) : new Uint8Array(confidences.buffer);
}

/** Returns the index relative to `first`; ties go to the lowest. */
function indexOfLargest(values: Numbers, first: number, count: number): number {
  let [best, most] = [0, values.get(first)];
  for (let index = 1; index < count; index++) {
    const value = values.get(first + index);
    if (value > most || (Number.isNaN(most) && !Number.isNaN(value))) {
      most = value;
      best = index;
    }
  }
  return best;
}

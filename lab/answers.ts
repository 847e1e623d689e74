/** What models answer: classes of logits, and shares of what is right. */
import type { InferenceSession, Tensor } from "onnxruntime-node";

/** Class of each row: the largest logit, the first of equals. @param logits [rows, width]. */
export function classesOf(logits: ArrayLike<number>, width: number): number[] {
  return rowsOf(logits, width).map((row) => row.indexOf(Math.max(...row)));
}

/** @param values [rows, width]. */
export function rowsOf(values: ArrayLike<number>, width: number): number[][] {
  const all = Array.from(values);
  return Array.from({ length: all.length / width }, (_, row) =>
    all.slice(row * width, (row + 1) * width),
  );
}

/** Share of a list for which something holds; 0 of an empty one. */
export function shareOf<T>(list: readonly T[], holds: (item: T, index: number) => boolean): number {
  return list.length === 0 ? 0 : list.filter(holds).length / list.length;
}

/** A tensor of what a session returned. @throws Error if there is none of that name. */
export function outputOf(outputs: InferenceSession.ReturnType, name: string): Tensor {
  const tensor = outputs[name];
  if (tensor === undefined) throw new Error(`the model has no output ${name}`);
  return tensor;
}

/** Numbers of a float32 output. */
export function floatsOf(outputs: InferenceSession.ReturnType, name: string): Float32Array {
  return outputOf(outputs, name).data as Float32Array;
}

/** Bytes of a uint8 output. */
export function bytesOf(outputs: InferenceSession.ReturnType, name: string): Uint8Array {
  return outputOf(outputs, name).data as Uint8Array;
}

/** Numbers of an int64 output. */
export function integersOf(outputs: InferenceSession.ReturnType, name: string): number[] {
  return Array.from(outputOf(outputs, name).data as BigInt64Array, Number);
}

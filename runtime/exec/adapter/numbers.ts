/** Elements of a tensor as numbers, whatever their type. */
import { halfToNumber, numberToHalf } from "../../core/half.ts";

export interface Numbers {
  readonly length: number;
  get(index: number): number;
  /** Integers are rounded to nearest and clamped to their range. */
  set(index: number, value: number): void;
  fill(value: number, start: number, end: number): void;
}

type Whole =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Uint8ClampedArray;

/** Integer types whose elements are JavaScript numbers: view and range. */
const WHOLE = {
  uint8: [Uint8Array, 0, 2 ** 8 - 1],
  int8: [Int8Array, -(2 ** 7), 2 ** 7 - 1],
  uint16: [Uint16Array, 0, 2 ** 16 - 1],
  int16: [Int16Array, -(2 ** 15), 2 ** 15 - 1],
  uint32: [Uint32Array, 0, 2 ** 32 - 1],
  int32: [Int32Array, -(2 ** 31), 2 ** 31 - 1],
  bool: [Uint8Array, 0, 1],
} as const;

/** Whether elements of this type can be read as numbers. */
export function hasNumbers(dtype: string): boolean {
  return ["float32", "float64", "float16", "int64", "uint64"].includes(dtype) || dtype in WHOLE;
}

/** @param bytes aligned to the element size. @throws RangeError for a type without numbers. */
export function numbersOf(dtype: string, bytes: Uint8Array<ArrayBuffer>): Numbers {
  const { buffer, byteOffset, length } = bytes;
  if (dtype === "float32") return floats(new Float32Array(buffer, byteOffset, length / 4));
  if (dtype === "float64") return floats(new Float64Array(buffer, byteOffset, length / 8));
  if (dtype === "float16") return halves(new Uint16Array(buffer, byteOffset, length / 2));
  if (dtype === "int64") return bigs(new BigInt64Array(buffer, byteOffset, length / 8));
  if (dtype === "uint64") return bigs(new BigUint64Array(buffer, byteOffset, length / 8));
  const whole = (WHOLE as Partial<Record<string, (typeof WHOLE)[keyof typeof WHOLE]>>)[dtype];
  if (whole === undefined) throw new RangeError(`elements of ${dtype} are not numbers`);
  const [View, least, most] = whole;
  return wholes(new View(buffer, byteOffset, length / View.BYTES_PER_ELEMENT), least, most);
}

function floats(view: Float32Array | Float64Array): Numbers {
  return {
    length: view.length,
    get: (index) => view[index] ?? Number.NaN,
    set: (index, value) => {
      view[index] = value;
    },
    fill: (value, start, end) => void view.fill(value, start, end),
  };
}

function halves(view: Uint16Array): Numbers {
  return {
    length: view.length,
    get: (index) => halfToNumber(view[index] ?? 0),
    set: (index, value) => {
      view[index] = numberToHalf(value);
    },
    fill: (value, start, end) => void view.fill(numberToHalf(value), start, end),
  };
}

function wholes(view: Whole, least: number, most: number): Numbers {
  const within = (value: number) => Math.min(most, Math.max(least, Math.round(value)));
  return {
    length: view.length,
    get: (index) => view[index] ?? 0,
    set: (index, value) => {
      view[index] = within(value);
    },
    fill: (value, start, end) => void view.fill(within(value), start, end),
  };
}

function bigs(view: BigInt64Array | BigUint64Array): Numbers {
  return {
    length: view.length,
    get: (index) => Number(view[index] ?? 0n),
    set: (index, value) => {
      view[index] = BigInt(Math.round(value));
    },
    fill: (value, start, end) => {
      for (let index = start; index < end; index++) view[index] = BigInt(Math.round(value));
    },
  };
}

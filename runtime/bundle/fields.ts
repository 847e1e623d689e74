/** Strict readers of single fields: an unknown value and where it stands in, the typed value or a BundleError out. */
import { BundleError } from "./bundle-error.ts";
import type { Table } from "./schema.ts";

/** Longest text of a bundle, in UTF-16 units. */
const MAX_TEXT_LENGTH = 1024;
/** Controls, line separators and lone surrogates: none survives a terminal, a log line or UTF-8. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]/u;
const ANY_UNPRINTABLE = new RegExp(UNPRINTABLE, "gu");

/** An object with exactly these keys. @param added keys that it may have besides; what is left out is undefined. */
export function objectOf<Key extends string, Added extends string = never>(
  value: unknown,
  path: string,
  keys: readonly Key[],
  added: readonly Added[] = [],
): Readonly<Record<Key, unknown> & Partial<Record<Added, unknown>>> {
  if (!isRecord(value)) return refuse(path, value, "a map");
  const all: readonly string[] = [...keys, ...added];
  for (const key of Object.keys(value)) {
    if (!all.some((known) => known === key)) {
      refuseAs(path, `the key ${clip(key)}`, `only the keys ${all.join(", ")}`);
    }
  }
  for (const key of keys) {
    if (!Object.hasOwn(value, key)) refuseAs(path, "no such key", `the key "${key}"`);
  }
  return value as Readonly<Record<Key, unknown> & Partial<Record<Added, unknown>>>;
}

/** An array of `minCount` to `maxCount` items, each read by `item`. */
export function arrayOf<Item>(
  value: unknown,
  path: string,
  [minCount, maxCount]: readonly [number, number],
  item: (value: unknown, path: string) => Item,
): readonly Item[] {
  if (!Array.isArray(value))
    return refuse(path, value, `an array of ${counts(minCount, maxCount)}`);
  if (value.length < minCount || value.length > maxCount) {
    refuseAs(path, `${value.length} items`, `an array of ${counts(minCount, maxCount)}`);
  }
  const items: Item[] = [];
  for (let index = 0; index < value.length; index++) {
    items.push(item(value[index], `${path}[${index}]`));
  }
  return Object.freeze(items);
}

function counts(min: number, max: number): string {
  return min === max ? `${min}` : `${min} to ${max}`;
}

/** Absent values are nil in the file, never missing keys; but for the optional keys of `objectOf`. */
export function nullOr<Value>(
  value: unknown,
  path: string,
  read: (value: unknown, path: string) => Value,
): Value | null {
  return value === null ? null : read(value, path);
}

export function boolean(value: unknown, path: string): boolean {
  return typeof value === "boolean" ? value : refuse(path, value, "true or false");
}

/** Non-empty text on one line. */
export function text(value: unknown, path: string): string {
  if (typeof value !== "string" || value === "" || value.length > MAX_TEXT_LENGTH) {
    return refuse(path, value, `a text of 1 to ${MAX_TEXT_LENGTH} characters`);
  }
  return UNPRINTABLE.test(value) ? refuse(path, value, "a text without control characters") : value;
}

export function oneOf<Value extends string>(
  value: unknown,
  path: string,
  allowed: readonly Value[],
): Value {
  const found = allowed.find((each) => each === value);
  return found ?? refuse(path, value, allowed.map((each) => `"${each}"`).join(" or "));
}

/** A text of a form. @param allowed the form, in words. */
export function matching(value: unknown, path: string, form: RegExp, allowed: string): string {
  const found = text(value, path);
  return form.test(found) ? found : refuse(path, value, allowed);
}

/** A file name without directories. */
export function fileName(value: unknown, path: string): string {
  const name = text(value, path);
  if (/[\\/]/.test(name) || name === "." || name === "..") {
    refuse(path, value, "a file name without directories");
  }
  return name;
}

/** A path relative to some folder, with forward slashes. */
export function relativePath(value: unknown, path: string): string {
  const file = text(value, path);
  if (/^\/|\\|^[a-z]:/i.test(file)) refuse(path, value, "a relative path with forward slashes");
  return file;
}

export function sha256(value: unknown, path: string): string {
  const digest = text(value, path);
  return /^[0-9a-f]{64}$/.test(digest)
    ? digest
    : refuse(path, value, "a SHA-256 as 64 hexadecimal digits in lower case");
}

/** A number from `min` to `max`, both included. Negative zero has no encoding of its own and is refused. */
export function numberIn(value: unknown, path: string, min: number, max: number): number {
  if (typeof value === "number" && value >= min && value <= max && !Object.is(value, -0)) {
    return value;
  }
  return refuse(path, value, `a number from ${min} to ${max}`);
}

/** A number above 0, at most `max`. */
export function positive(value: unknown, path: string, max: number): number {
  if (typeof value === "number" && value > 0 && value <= max) return value;
  return refuse(path, value, `a number above 0, at most ${max}`);
}

/** A number between `min` and `max`, both excluded. */
export function numberBetween(value: unknown, path: string, min: number, max: number): number {
  if (typeof value === "number" && value > min && value < max) return value;
  return refuse(path, value, `a number above ${min} and below ${max}`);
}

export function integerIn(value: unknown, path: string, min: number, max: number): number {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) {
    return numberIn(value, path, min, max);
  }
  return refuse(path, value, `an integer from ${min} to ${max}`);
}

/**
 * A dense table of one type and rank. In memory its data is a typed array, which is kept; as decoded it is bytes, which are copied once into
 * a fresh, aligned typed array.
 *
 * @param minRows 0 where the first axis may be empty.
 */
export function tableOf(
  value: unknown,
  path: string,
  dtype: Table["dtype"],
  rank: number,
  minRows: 0 | 1 = 1,
): Table {
  const fields = objectOf(value, path, ["data", "dtype", "shape"]);
  oneOf(fields.dtype, `${path}.dtype`, [dtype]);
  const shape = arrayOf(fields.shape, `${path}.shape`, [rank, rank], (dimension, at) =>
    integerIn(dimension, at, at === `${path}.shape[0]` ? minRows : 1, 2 ** 31),
  );
  const count = shape.reduce((product, dimension) => product * dimension, 1);
  const at = `${path}.data`;
  if (dtype === "float64") {
    const data = elements(fields.data, at, count, Float64Array);
    return Object.freeze({ dtype, shape, data });
  }
  return Object.freeze({ dtype, shape, data: elements(fields.data, at, count, Uint16Array) });
}

interface TypedArrayConstructor<Data> {
  new (buffer: ArrayBuffer): Data;
  readonly BYTES_PER_ELEMENT: number;
}

function elements<Data extends Float64Array | Uint16Array>(
  data: unknown,
  path: string,
  count: number,
  Type: TypedArrayConstructor<Data>,
): Data {
  const byteCount = count * Type.BYTES_PER_ELEMENT;
  const isTyped = data instanceof Type;
  if (!isTyped && !(data instanceof Uint8Array)) {
    return refuse(path, data, `${byteCount} bytes`);
  }
  if (data.byteLength !== byteCount) {
    refuseAs(path, `${data.byteLength} bytes`, `${byteCount} bytes, as the shape says`);
  }
  if (isTyped) return data;
  const buffer = new ArrayBuffer(byteCount);
  new Uint8Array(buffer).set(data);
  return new Type(buffer);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  );
}

function refuse(path: string, found: unknown, allowed: string): never {
  refuseAs(path, describe(found), allowed);
}

/** @param found what was found, in words. */
function refuseAs(path: string, found: string, allowed: string): never {
  throw new BundleError(
    "BUNDLE_SCHEMA",
    `${path === "" ? "payload" : path}: expected ${allowed}, got ${found}; compile the bundle again`,
  );
}

function describe(value: unknown): string {
  if (typeof value === "string") return clip(value);
  if (Object.is(value, -0)) return "-0";
  if (Array.isArray(value)) return "an array";
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  return typeof value === "object" && value !== null ? "a map" : String(value);
}

function clip(value: string): string {
  const short = value.length > 40 ? `${value.slice(0, 40)}…` : value;
  return `"${short.replace(ANY_UNPRINTABLE, "�")}"`;
}

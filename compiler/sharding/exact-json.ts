/**
 * JSON that preserves values bit for bit, including typed arrays, maps, undefined, and numbers that
 * JSON cannot represent.
 */

/** Supported typed arrays. */
const ARRAYS = {
  Int8Array,
  Uint8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
} as const;

type ArrayName = keyof typeof ARRAYS;

/** Prefix of the only key of objects that encode special values. */
const MARK = "$";
/** Far above the depth of applications and levels. */
const MAX_DEPTH = 100;

/**
 * Encodes a value. Keys keep their order, which sums may follow. @throws TypeError for unsupported
 * objects.
 */
export function exactText(value: unknown): string {
  return JSON.stringify(marked(value, 0));
}

/** Decodes text of `exactText`. @throws SyntaxError for other text. */
export function exactValue(text: string): unknown {
  return plain(JSON.parse(text), 0);
}

function marked(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new TypeError("the value is nested too deeply");
  if (value === undefined) return { [`${MARK}undefined`]: true };
  if (typeof value === "number") return markedNumber(value);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((one) => marked(one, depth + 1));
  if (ArrayBuffer.isView(value)) return markedArray(value);
  if (value instanceof Map) {
    const pairs = [...value].map(([key, one]) => [marked(key, depth + 1), marked(one, depth + 1)]);
    return { [`${MARK}map`]: pairs };
  }
  if (typeof value !== "object" || !isPlain(value)) throw new TypeError("expected plain data");
  const entries = Object.entries(value).map(([key, one]) => [key, marked(one, depth + 1)] as const);
  if (!entries.some(([key]) => key.startsWith(MARK))) return Object.fromEntries(entries);
  return { [`${MARK}object`]: entries };
}

function markedNumber(value: number): unknown {
  if (Number.isFinite(value) && !Object.is(value, -0)) return value;
  return { [`${MARK}number`]: Object.is(value, -0) ? "-0" : String(value) };
}

function markedArray(view: ArrayBufferView): object {
  const name = nameOf(view);
  if (name === undefined) throw new TypeError("expected a typed array of numbers");
  const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  return { [`${MARK}array`]: [name, bytes.toString("base64")] };
}

/** A Buffer counts as an array of bytes. */
function nameOf(view: ArrayBufferView): ArrayName | undefined {
  return ARRAY_NAMES.find((name) => view instanceof ARRAYS[name]);
}

const ARRAY_NAMES = Object.keys(ARRAYS) as readonly ArrayName[];

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function plain(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new SyntaxError("the value is nested too deeply");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
  const entries = Object.entries(value);
  const [first] = entries;
  if (first?.[0].startsWith(MARK)) {
    if (entries.length > 1) throw new SyntaxError("expected a mark as the only key");
    return unmarked(first[0].slice(MARK.length), first[1], depth);
  }
  return Object.fromEntries(entries.map(([key, one]) => [key, plain(one, depth + 1)]));
}

function unmarked(mark: string, content: unknown, depth: number): unknown {
  if (mark === "undefined") return undefined;
  if (mark === "number") return Number(content);
  if (mark === "array") return arrayOf(content);
  if (mark === "map") return new Map(pairsOf(content, depth));
  if (mark === "object") return Object.fromEntries(pairsOf(content, depth));
  throw new SyntaxError(`unknown mark ${mark}`);
}

function pairsOf(content: unknown, depth: number): [PropertyKey, unknown][] {
  if (!Array.isArray(content)) throw new SyntaxError("expected a list of pairs");
  return content.map((pair) => [
    plain(pair?.[0], depth + 1) as string,
    plain(pair?.[1], depth + 1),
  ]);
}

function arrayOf(content: unknown): ArrayBufferView {
  const [name, base64] = Array.isArray(content) ? content : [];
  const known = ARRAY_NAMES.find((one) => one === name);
  if (known === undefined || typeof base64 !== "string")
    throw new SyntaxError("expected a typed array");
  const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
  const of = ARRAYS[known];
  if (bytes.length % of.BYTES_PER_ELEMENT !== 0)
    throw new SyntaxError("expected a complete typed array");
  return new of(bytes.buffer);
}

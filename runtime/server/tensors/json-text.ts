/** JSON in which integers beyond the precision of a number keep their digits. */
import { randomUUID } from "node:crypto";

/**
 * Only key of an object that represents such an integer; its value is the digits. Clients cannot
 * know the key, and no field of the protocol accepts an object as text or number.
 */
const INTEGER_KEY = randomUUID();

/** A shorter integer is always exact as a number. */
const LEAST_LONG_DIGITS = 16;
const MAX_INTEGER_DIGITS = 40;
const MAX_FOUND_TEXT = 60;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/** Limits of the parts of a JSON text, which bound the memory of its values. */
export interface JsonLimits {
  /** Names and values. */
  readonly values: number;
  /** Arrays and objects. */
  readonly containers: number;
  readonly strings: number;
}

/**
 * Parses JSON in linear time.
 * @param limits default: the text is short.
 * @throws SyntaxError; RangeError if the text exceeds the limits.
 */
export function parseJson(text: string, limits?: JsonLimits): unknown {
  const hasLong = /\d{16}/.test(text);
  if (!hasLong && limits === undefined) return JSON.parse(text);
  const { bounds, ...found } = scan(text);
  if (limits !== undefined) check(found, limits);
  return JSON.parse(bounds.length === 0 ? text : marked(text, bounds));
}

function check(found: JsonLimits, limits: JsonLimits): void {
  const words = {
    containers: "arrays and objects",
    strings: "names and strings",
    values: "names and values",
  };
  for (const kind of ["containers", "strings", "values"] as const) {
    if (found[kind] <= limits[kind]) continue;
    const why = "more than the shapes of the model need";
    throw new RangeError(`of at most ${limits[kind]} ${words[kind]}, got ${found[kind]}, ${why}`);
  }
}

/**
 * Scans strings and numbers, whether or not the text is valid JSON.
 * @returns upper bounds of the parts of each kind, and starts and ends of long integers,
 * alternating.
 */
function scan(text: string): JsonLimits & { readonly bounds: readonly number[] } {
  const bounds: number[] = [];
  let values = 1;
  let containers = 0;
  let strings = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      strings++;
      at = stringEnd(text, at);
    } else if (isDigit(code) || code === MINUS) {
      const end = numberEnd(text, at);
      if (isLongInteger(text, at, end)) bounds.push(at, end);
      at = end;
    } else {
      // A value may follow a comma, a colon and an opening bracket.
      const isOpening = (code | 0x20) === 0x7b;
      if (isOpening) containers++;
      if (isOpening || code === 0x2c || code === 0x3a) values++;
      at++;
    }
  }
  return { values, containers, strings, bounds };
}

/** Reads each run of backslashes once, for the quote after it. */
function stringEnd(text: string, begin: number): number {
  let quote = text.indexOf('"', begin + 1);
  while (quote >= 0) {
    let first = quote;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    quote = text.indexOf('"', quote + 1);
  }
  return text.length;
}

function numberEnd(text: string, begin: number): number {
  let end = begin + 1;
  while (end < text.length && isOfNumber(text.charCodeAt(end))) end++;
  return end;
}

/** Whether it is an integer that a number cannot represent exactly. */
function isLongInteger(text: string, begin: number, end: number): boolean {
  const first = text.charCodeAt(begin) === MINUS ? begin + 1 : begin;
  if (end - first < LEAST_LONG_DIGITS || text.charCodeAt(first) === ZERO) return false;
  for (let at = first; at < end; at++) if (!isDigit(text.charCodeAt(at))) return false;
  return !Number.isSafeInteger(Number(text.slice(begin, end)));
}

function marked(text: string, bounds: readonly number[]): string {
  const parts: string[] = [];
  let from = 0;
  for (let index = 0; index < bounds.length; index += 2) {
    const [begin = 0, end = 0] = [bounds[index], bounds[index + 1]];
    parts.push(text.slice(from, begin), `{"${INTEGER_KEY}":"${text.slice(begin, end)}"}`);
    from = end;
  }
  parts.push(text.slice(from));
  return parts.join("");
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** Digits, and what else a number is written with. */
function isOfNumber(code: number): boolean {
  return (
    isDigit(code) || code === MINUS || code === 0x2b || code === 0x2e || (code | 0x20) === 0x65
  );
}

/**
 * @returns the integer that a value of `parseJson` is; undefined for other values, and for numbers
 * too large to be exact.
 */
export function readInteger(value: unknown): bigint | undefined {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  }
  const digits = longDigits(value);
  return digits !== undefined && digits.length <= MAX_INTEGER_DIGITS ? BigInt(digits) : undefined;
}

/** The value by which JSON would have had an integer: a number where that is exact. */
export function integerValue(integer: bigint): unknown {
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : { [INTEGER_KEY]: String(integer) };
}

/** Value found, for an error message, shortened to some 60 characters. */
export function foundText(value: unknown): string {
  if (value === undefined) return "nothing";
  const digits = longDigits(value);
  if (digits !== undefined) return cut(digits);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  const known = typeof value === "string" ? value.slice(0, MAX_FOUND_TEXT) : value;
  return cut(JSON.stringify(known) ?? String(value));
}

function longDigits(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, INTEGER_KEY)) {
    return undefined;
  }
  return String((value as Readonly<Record<string, unknown>>)[INTEGER_KEY]);
}

function cut(text: string): string {
  return text.length > MAX_FOUND_TEXT ? `${text.slice(0, MAX_FOUND_TEXT - 3)}...` : text;
}

/** JSON in which integers beyond the precision of a number keep their digits. */

/**
 * Marks a string of parsed JSON: the digits of an integer follow. It is never text that a field of
 * the protocol needs.
 */
const INTEGER_MARK = "\u0000integer:";

/** A string, to step over it, or an integer that a number may not hold. */
const STRING_OR_LONG_INTEGER = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE])/g;

/** @throws SyntaxError */
export function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const marked = text.replace(STRING_OR_LONG_INTEGER, (token) =>
    token.startsWith('"') ? token : JSON.stringify(INTEGER_MARK + token),
  );
  return JSON.parse(marked);
}

/**
 * @returns the integer a value of `parseJson` is; undefined if it is none, or a number too large to
 * be exact.
 */
export function readInteger(value: unknown): bigint | undefined {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  }
  if (typeof value !== "string" || !value.startsWith(INTEGER_MARK)) return undefined;
  const digits = value.slice(INTEGER_MARK.length);
  return /^-?\d{1,40}$/.test(digits) ? BigInt(digits) : undefined;
}

/** What was found, for an error message. */
export function foundText(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string" && value.startsWith(INTEGER_MARK)) {
    return value.slice(INTEGER_MARK.length, 60);
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** Describes failures of a registry in one line without secrets. */
import { RuntimeError } from "../base/errors.ts";

/** Limit of an error body that is read for its message. */
export const MAX_WORDS_BYTES = 2 ** 16;
const MAX_WORDS = 300;
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]+/gu;

/** A failed connection or interrupted response; a later attempt may succeed. */
export class TransientError extends Error {
  /** Wait requested by the registry; null if none. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = "TransientError";
    this.retryAfterMs = retryAfterMs;
  }
}

/** @param where what was requested, such as a reference. */
export function registryError(where: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_REGISTRY", `${where}: ${printable(message)}`);
}

/** Replaces control characters, so that a text stays on one line. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, " ").trim();
}

export function digestError(where: string, expected: string, found: string): RuntimeError {
  const message = `expected the content with SHA-256 ${expected}, got ${found}`;
  return new RuntimeError("RUNTIME_DIGEST", `${where}: ${message}; the content was discarded`);
}

/** Describes an error response by the errors it lists, in the format of registries. */
export function wordsOf(status: number, body: Uint8Array): string {
  const text = new TextDecoder().decode(body);
  const description = listedErrors(text) ?? text;
  const words = printable(description).slice(0, MAX_WORDS);
  return words === "" ? `status ${status}` : `status ${status}: ${words}`;
}

/** Returns null if the text is not in the format of registries. */
function listedErrors(text: string): string | null {
  try {
    const { errors }: { readonly errors?: unknown } = JSON.parse(text);
    if (!Array.isArray(errors)) return null;
    return errors.map(({ code, message }) => `${code} ${message}`).join("; ");
  } catch {
    return null;
  }
}

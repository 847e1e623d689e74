/** What a registry said, or that it said nothing, in one line without anything secret. */
import { RuntimeError } from "../base/errors.ts";

/** Of an answer that is to be told; more of it is not read. */
export const MAX_WORDS_BYTES = 2 ** 16;
const MAX_TOLD = 300;
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]+/gu;

/** A connection that failed, or an answer that was cut: the same may succeed a moment later. */
export class TransientError extends Error {
  /** As the registry asks for it; null where it does not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = "TransientError";
    this.retryAfterMs = retryAfterMs;
  }
}

/** @param where what was asked for, such as a reference. */
export function registryError(where: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_REGISTRY", `${where}: ${printable(message)}`);
}

/** On one line, whatever somebody put into it. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, " ").trim();
}

export function digestError(where: string, expected: string, found: string): RuntimeError {
  const message = `expected the content with SHA-256 ${expected}, got ${found}`;
  return new RuntimeError("RUNTIME_DIGEST", `${where}: ${message}; nothing of it is used`);
}

/** What an answer other than the wanted one says: its errors, as registries list them. */
export function wordsOf(status: number, body: Uint8Array): string {
  const text = new TextDecoder().decode(body);
  const told = listedErrors(text) ?? text;
  const words = printable(told).slice(0, MAX_TOLD);
  return words === "" ? `it said ${status}` : `it said ${status}: ${words}`;
}

/** Null where the text is not what registries answer with. */
function listedErrors(text: string): string | null {
  try {
    const { errors }: { readonly errors?: unknown } = JSON.parse(text);
    if (!Array.isArray(errors)) return null;
    return errors.map(({ code, message }) => `${code} ${message}`).join("; ");
  } catch {
    return null;
  }
}

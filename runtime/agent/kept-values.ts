/** Tensors kept on a worker until another worker fetches them. */
import { randomUUID } from "node:crypto";
import { HttpError } from "../server/connections/http-error.ts";

/** Lifetime of a value; its taker needs it for its next batch. */
const KEPT_MS = 60_000;

interface KeptValue {
  readonly bytes: Uint8Array;
  readonly sinceMs: number;
}

export class KeptValues {
  readonly maxBytes: number;
  readonly #nowMs: () => number;
  /** Oldest first. */
  readonly #byKey = new Map<string, KeptValue>();
  #bytes = 0;

  constructor(maxBytes: number, nowMs: () => number) {
    this.maxBytes = maxBytes;
    this.#nowMs = nowMs;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Keeps a value, dropping the oldest ones to make space. @returns its unguessable key. @throws
   * HttpError 413
   */
  put(bytes: Uint8Array): string {
    if (bytes.length > this.maxBytes) {
      const expected = `expected a value of at most ${this.maxBytes} bytes to keep`;
      throw new HttpError(413, `${expected}, got ${bytes.length}; --max-body sets it`);
    }
    const sinceMs = this.#nowMs();
    for (const [key, value] of this.#byKey) {
      const isOver = value.sinceMs + KEPT_MS <= sinceMs;
      if (!isOver && this.#bytes + bytes.length <= this.maxBytes) break;
      this.#drop(key, value);
    }
    const key = randomUUID();
    this.#byKey.set(key, { bytes: alone(bytes), sinceMs });
    this.#bytes += bytes.length;
    return key;
  }

  /** Returns undefined for a value that is no longer kept. */
  get(key: string): Uint8Array | undefined {
    return this.#byKey.get(key)?.bytes;
  }

  #drop(key: string, { bytes }: KeptValue): void {
    this.#byKey.delete(key);
    this.#bytes -= bytes.length;
  }
}

/** Copies a small view, so that it does not keep a large buffer alive. */
function alone(bytes: Uint8Array): Uint8Array {
  return 2 * bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes;
}

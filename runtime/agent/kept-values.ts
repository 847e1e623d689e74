/** Tensors that stay on a worker, for the one that takes them next. */
import { randomUUID } from "node:crypto";
import { HttpError } from "../server/connections/http-error.ts";

/** Whoever takes a value does so with its next batch. */
const KEPT_MS = 60_000;

interface KeptValue {
  readonly bytes: Uint8Array;
  readonly sinceMs: number;
}

export class KeptValues {
  readonly maxBytes: number;
  readonly #nowMs: () => number;
  /** The oldest first. */
  readonly #byKey = new Map<string, KeptValue>();
  #bytes = 0;

  constructor(maxBytes: number, nowMs: () => number) {
    this.maxBytes = maxBytes;
    this.#nowMs = nowMs;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Makes room by the oldest. @returns its key, which nobody can guess. @throws HttpError 413 */
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

  /** @returns undefined for one that is not there any more. */
  get(key: string): Uint8Array | undefined {
    return this.#byKey.get(key)?.bytes;
  }

  #drop(key: string, { bytes }: KeptValue): void {
    this.#byKey.delete(key);
    this.#bytes -= bytes.length;
  }
}

/** Without what lies beside it in memory, where that is much. */
function alone(bytes: Uint8Array): Uint8Array {
  return 2 * bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes;
}

/** Gathers the chunks of a body in one buffer. */
import { bodyMemory } from "./body-memory.ts";

/**
 * Memory that grows in place. It is mapped for itself, so it goes back to the system with the body,
 * where what the heap of C has given to many bodies at once may stay with the process.
 */
interface Growing extends ArrayBuffer {
  resize(bytes: number): void;
}
// The types of ES2023 do not have it; every Node from 20 on does.
const GrowingBuffer = ArrayBuffer as unknown as new (
  bytes: number,
  limits: { readonly maxByteLength: number },
) => Growing;

/** Above it memory is mapped, which costs a page fault for each 4 KiB. */
const MAPPED_BYTES = 2 ** 20;

/**
 * One chunk that is the whole body is taken as it is; of several, each is copied once if the length
 * is known. If it is not, the buffer doubles, and from a size on grows where it is.
 */
export class ByteSink {
  #length = 0;
  #only: Buffer | undefined;
  #buffer: Buffer | undefined;
  #growing: Growing | undefined;
  readonly #expected: number | undefined;
  readonly #maxBytes: number;

  /** @param maxBytes of all chunks, which the caller sees to. */
  constructor(expected: number | undefined, maxBytes: number) {
    this.#expected = expected;
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    const start = this.#length;
    this.#length += chunk.length;
    if (start === 0 && (this.#expected === undefined || this.#expected === chunk.length)) {
      this.#only = chunk;
      return;
    }
    const buffer = this.#bufferOf(this.#length);
    if (this.#only !== undefined) this.#only.copy(buffer);
    this.#only = undefined;
    chunk.copy(buffer, start);
  }

  finish(): Buffer {
    return this.#only ?? this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  #bufferOf(bytes: number): Buffer {
    const known = this.#buffer;
    if (known !== undefined && known.length >= bytes) return known;
    const doubled = Math.min(this.#maxBytes, 2 * Math.max(bytes, known?.length ?? 0));
    const capacity = Math.max(bytes, this.#expected ?? doubled);
    if (capacity <= MAPPED_BYTES) {
      const isWhole = capacity === this.#expected;
      const taken = isWhole ? bodyMemory.take(capacity) : undefined;
      const grown = taken ?? Buffer.allocUnsafeSlow(capacity);
      known?.copy(grown);
      this.#buffer = grown;
      return grown;
    }
    const isFirst = this.#growing === undefined;
    this.#growing ??= new GrowingBuffer(0, { maxByteLength: Math.max(capacity, this.#maxBytes) });
    this.#growing.resize(capacity);
    const grown = Buffer.from(this.#growing);
    if (isFirst) known?.copy(grown);
    this.#buffer = grown;
    return grown;
  }
}

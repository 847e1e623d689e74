/** Gathers the chunks of a body in one buffer. */

/**
 * One chunk that is the whole body is taken as it is; of several, each is copied once if the length
 * is known. If it is not, the buffer doubles, so that no single copy is of the whole body.
 */
export class ByteSink {
  #length = 0;
  #only: Buffer | undefined;
  #buffer: Buffer | undefined;
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
    // Memory of its own, that goes when the body does.
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes, this.#expected ?? doubled));
    known?.copy(grown);
    this.#buffer = grown;
    return grown;
  }
}

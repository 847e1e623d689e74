/**
 * Cuts what comes by a stream of this machine into frames: `u32 bytes that follow, u8 kind, …`, in
 * little-endian order.
 */

const LENGTH_BYTES = 4;

export class FrameSplitter {
  readonly #onFrame: (frame: Buffer) => void;
  /** Of a frame that is not whole: its length, or itself. */
  #part = Buffer.allocUnsafe(LENGTH_BYTES);
  #filled = 0;
  #isLengthKnown = false;

  /** @param onFrame gets the frame with its length, which may be a view of what came with it. */
  constructor(onFrame: (frame: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let at = this.#filled === 0 ? 0 : this.#fill(chunk, 0);
    while (at < chunk.length) {
      const left = chunk.length - at;
      const bytes = left < LENGTH_BYTES ? 0 : LENGTH_BYTES + chunk.readUInt32LE(at);
      if (bytes === 0 || bytes > left) {
        at = this.#fill(chunk, at);
        continue;
      }
      this.#onFrame(chunk.subarray(at, at + bytes));
      at += bytes;
    }
  }

  /** Takes what is missing of a frame. @returns where the next one begins. */
  #fill(chunk: Buffer, from: number): number {
    let at = from;
    if (!this.#isLengthKnown) {
      at += this.#take(chunk, at);
      if (this.#filled < LENGTH_BYTES) return at;
      const whole = Buffer.allocUnsafeSlow(LENGTH_BYTES + this.#part.readUInt32LE(0));
      this.#part.copy(whole);
      this.#part = whole;
      this.#isLengthKnown = true;
    }
    at += this.#take(chunk, at);
    if (this.#filled < this.#part.length) return at;
    const frame = this.#part;
    this.#part = Buffer.allocUnsafe(LENGTH_BYTES);
    this.#filled = 0;
    this.#isLengthKnown = false;
    this.#onFrame(frame);
    return at;
  }

  #take(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#part, this.#filled, at);
    this.#filled += taken;
    return taken;
  }
}

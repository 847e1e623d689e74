/** Puts frames together from the chunks a stream delivers. */
import { decodeHeader, type Frame, HEADER_BYTES, START_BYTES } from "./frame-protocol.ts";

/** @param start first bytes of the payload: `START_BYTES`, or all if there are fewer. */
export type OnHead = (kind: number, start: Uint8Array<ArrayBuffer>) => void;

export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  readonly #onHead: OnHead;
  readonly #header = new Uint8Array(HEADER_BYTES);
  #headerFilled = 0;
  #kind = 0;
  /** Memory of one frame alone: its receiver may keep it. */
  #payload = new Uint8Array(0);
  #payloadFilled = 0;

  /** @param onHead called when a frame begins, before `onFrame` and however long its rest takes. */
  constructor(onFrame: (frame: Frame) => void, onHead: OnHead = () => {}) {
    this.#onFrame = onFrame;
    this.#onHead = onHead;
  }

  /** Takes the next bytes of the stream, which are copied. @throws Error if they are not frames. */
  push(chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length) {
      offset += this.#headerFilled < HEADER_BYTES ? this.#fillHeader(chunk, offset) : 0;
      if (this.#headerFilled < HEADER_BYTES) return;
      offset += this.#fillPayload(chunk, offset);
      if (this.#payloadFilled < this.#payload.length) return;
      this.#headerFilled = 0;
      this.#onFrame({ kind: this.#kind, payload: this.#payload });
    }
  }

  #fillHeader(chunk: Uint8Array, offset: number): number {
    const part = chunk.subarray(offset, offset + HEADER_BYTES - this.#headerFilled);
    this.#header.set(part, this.#headerFilled);
    this.#headerFilled += part.length;
    if (this.#headerFilled === HEADER_BYTES) {
      const { kind, payloadBytes } = decodeHeader(this.#header);
      this.#kind = kind;
      this.#payload = new Uint8Array(payloadBytes);
      this.#payloadFilled = 0;
      if (payloadBytes === 0) this.#onHead(kind, this.#payload);
    }
    return part.length;
  }

  #fillPayload(chunk: Uint8Array, offset: number): number {
    const part = chunk.subarray(offset, offset + this.#payload.length - this.#payloadFilled);
    this.#payload.set(part, this.#payloadFilled);
    const startBytes = Math.min(START_BYTES, this.#payload.length);
    const isStarted = this.#payloadFilled >= startBytes;
    this.#payloadFilled += part.length;
    if (!isStarted && this.#payloadFilled >= startBytes) {
      this.#onHead(this.#kind, this.#payload.subarray(0, startBytes));
    }
    return part.length;
  }
}

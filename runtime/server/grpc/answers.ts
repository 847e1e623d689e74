/** Tracks answers that clients have not read: their bytes, and slow readers. */
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";

/** Bytes that a client must read within each send timeout; less fits into the socket's buffer. */
const PIECE_BYTES = 65_536;

export interface AnswerLimits {
  readonly maxUnsentBytes: number;
  readonly sendTimeoutMs: number;
}

export class Answers {
  readonly #limits: AnswerLimits;
  readonly #cut: (peer: string) => void;
  #unsentBytes = 0;

  /** @param cut ends the connection of a client, by its address. */
  constructor(limits: AnswerLimits, cut: (peer: string) => void) {
    this.#limits = limits;
    this.#cut = cut;
  }

  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  /** @throws HttpError 503 while clients leave too many answers where they are. */
  expectRoom(): void {
    const { maxUnsentBytes } = this.#limits;
    if (this.#unsentBytes <= maxUnsentBytes) return;
    const expected = `expected at most ${maxUnsentBytes} bytes of unread answers`;
    throw new HttpError(503, `overloaded: ${expected}, got ${this.#unsentBytes}`, RETRY_LATER);
  }

  /**
   * Called when an answer is sent. @returns a function that reports its end; may be called
   * repeatedly.
   */
  begin(bytes: number, peer: string): () => void {
    this.#unsentBytes += bytes;
    const timeMs = this.#limits.sendTimeoutMs * Math.ceil(bytes / PIECE_BYTES);
    const isLong = bytes > PIECE_BYTES;
    const timer = isLong ? setTimeout(() => this.#cut(peer), timeMs).unref() : undefined;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      clearTimeout(timer);
      this.#unsentBytes -= bytes;
    };
  }
}

/** Whether what a client sends comes fast enough: in all, and in every stretch of time. */

export interface PaceLimits {
  /** From the end of the header to the end of the body. */
  readonly bodyTimeoutMs: number;
  /** How often it is looked whether the body comes. */
  readonly bodyWindowMs: number;
  /** Bytes per second that must have come in each of these windows. */
  readonly minBodyBytesPerS: number;
}

/** Those that have begun in this turn of the loop. */
const begun = new Set<Pace>();
let isTurnAwaited = false;

function waitForBegun(): void {
  isTurnAwaited = false;
  for (const pace of begun) pace.wait();
  begun.clear();
}

/**
 * Calls once when a body is too slow. One timer, whose waits end at whatever comes first, and which
 * a body that comes with its header goes without.
 */
export class Pace {
  readonly #limits: PaceLimits;
  readonly #bytes: () => number;
  readonly #onSlow: (reason: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #looking: NodeJS.Immediate | undefined;
  #passedMs = 0;
  #seenBytes = 0;

  /**
   * @param bytes come so far.
   * @param onSlow told what was expected and what was found.
   */
  constructor(limits: PaceLimits, bytes: () => number, onSlow: (reason: string) => void) {
    this.#limits = limits;
    this.#bytes = bytes;
    this.#onSlow = onSlow;
    begun.add(this);
    if (isTurnAwaited) return;
    isTurnAwaited = true;
    setImmediate(waitForBegun);
  }

  stop(): void {
    if (begun.delete(this)) return;
    clearTimeout(this.#timer);
    clearImmediate(this.#looking);
  }

  /** From now on. */
  wait(): void {
    const { bodyTimeoutMs, bodyWindowMs } = this.#limits;
    const waitMs = Math.min(bodyWindowMs, bodyTimeoutMs - this.#passedMs);
    this.#timer = setTimeout(() => {
      // What came while the server was busy is read first: it is no fault of the client's.
      this.#looking = setImmediate(() => this.#look(waitMs));
    }, waitMs);
  }

  #look(waitedMs: number): void {
    const { bodyTimeoutMs, bodyWindowMs, minBodyBytesPerS } = this.#limits;
    const bytes = this.#bytes();
    const cameBytes = bytes - this.#seenBytes;
    this.#passedMs += waitedMs;
    this.#seenBytes = bytes;
    if (this.#passedMs >= bodyTimeoutMs) {
      this.#onSlow(`expected the body within ${bodyTimeoutMs} ms, got ${bytes} bytes`);
    } else if (cameBytes < (minBodyBytesPerS * waitedMs) / 1000) {
      const expected = `expected at least ${minBodyBytesPerS} bytes of the body per second`;
      this.#onSlow(`${expected}, got ${cameBytes} in ${bodyWindowMs} ms`);
    } else this.wait();
  }
}

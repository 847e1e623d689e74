/** Time limits of exchanges with other servers. */

export interface TimeLimits {
  readonly signal?: AbortSignal | undefined;
  /** Limit of the whole exchange, ms. */
  readonly timeoutMs: number;
  /**
   * Each byte extends the limit by its time at this rate, bytes per ms; `timeoutMs` then limits
   * pauses too. If left out, bytes extend nothing.
   */
  readonly minRate?: number;
}

/** The exchange took longer than allowed. */
export class DeadlineError extends Error {}

/** Aborts an exchange with another server when its time is over, or with the caller's signal. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timeoutMs: number;
  readonly #minRate: number;
  readonly #outer: AbortSignal | undefined;
  readonly #beganMs = performance.now();
  #heardMs = this.#beganMs;
  #bytes: number;
  #timer: NodeJS.Timeout | undefined;
  /** Rejects when the exchange is aborted. */
  readonly passed: Promise<never>;

  /** @param sentBytes extend the limit too. */
  constructor(
    { timeoutMs, minRate = Number.POSITIVE_INFINITY, signal }: TimeLimits,
    sentBytes = 0,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#minRate = minRate;
    this.#outer = signal;
    this.#bytes = sentBytes;
    this.passed = new Promise((_, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
    });
    this.passed.catch(() => {});
    if (signal?.aborted === true) this.#abort();
    signal?.addEventListener("abort", this.#abort);
    this.#timer = setTimeout(this.#look, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Called for received bytes. */
  extend(byteCount: number): void {
    this.#bytes += byteCount;
    this.#heardMs = performance.now();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort(this.#outer?.reason);

  /** Reads sockets first: after a pause of this process the answer may already be there. */
  readonly #look = (): void => void setImmediate(() => setImmediate(() => this.#check()));

  #check(): void {
    if (this.#timer === undefined) return;
    const allMs = this.#timeoutMs + this.#bytes / this.#minRate;
    const pauseMs = this.#minRate === Number.POSITIVE_INFINITY ? allMs : this.#timeoutMs;
    const endMs = Math.min(this.#beganMs + allMs, this.#heardMs + pauseMs);
    const leftMs = Math.ceil(endMs - performance.now());
    if (leftMs > 0) {
      this.#timer = setTimeout(this.#look, leftMs);
      return;
    }
    const found = `no complete answer within ${Math.round(allMs)} ms`;
    const isSlow = endMs === this.#beganMs + allMs;
    const silent = `no data for ${this.#timeoutMs} ms`;
    this.#controller.abort(new DeadlineError(isSlow ? found : silent));
  }
}

/** Sends OTLP messages over HTTP as JSON, and retries those that the receiver may accept later. */
import { causeOf, firstBytes, openHttp, retryAfterMs } from "../../../base/http-client.ts";

interface OtlpClientOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Retryable statuses of the OTLP specification. */
const RETRIED = new Set([429, 502, 503, 504]);
/** Attempts per message, including the first. */
const MAX_TRIES = 4;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/** Limit of a response's body, which is not used. */
const MAX_ANSWER_BYTES = 1 << 16;

export class OtlpClient {
  readonly #options: OtlpClientOptions;
  readonly #closing = new AbortController();
  readonly #closed = new AbortController();

  constructor(options: OtlpClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a message; never rejects.
   * @param body JSON text.
   * @returns the reason for the failure, or null on success.
   */
  async send(url: string, body: Buffer): Promise<string | null> {
    let waitMs = FIRST_WAIT_MS;
    for (let tries = 1; ; tries++) {
      const { status, reason, pauseMs } = await this.#post(url, body);
      if (status >= 200 && status < 300) return null;
      const mayTry = (status === 0 || RETRIED.has(status)) && tries < MAX_TRIES;
      if (!mayTry || this.#closing.signal.aborted) return reason;
      await this.#pause(Math.min(LONGEST_WAIT_MS, pauseMs ?? waitMs));
      waitMs *= 2;
    }
  }

  /** Messages sent from now on are tried once. */
  hurry(): void {
    this.#closing.abort();
  }

  close(): void {
    this.hurry();
    this.#closed.abort(new Error("closed"));
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      signal.addEventListener("abort", end);
    });
  }

  /** @returns status 0 if there was no response. */
  async #post(url: string, body: Buffer): Promise<Posted> {
    const { headers, timeoutMs } = this.#options;
    try {
      const answer = await openHttp(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body,
        timeoutMs,
        signal: this.#closed.signal,
      });
      await firstBytes(answer.body, MAX_ANSWER_BYTES).catch(() => null);
      const reason = `the receiver answered ${answer.status}`;
      return { status: answer.status, reason, pauseMs: retryAfterMs(answer.headers) };
    } catch (error) {
      return { status: 0, reason: causeOf(error), pauseMs: null };
    }
  }
}

interface Posted {
  readonly status: number;
  readonly reason: string;
  readonly pauseMs: number | null;
}

/** Sends OTLP messages over HTTP as JSON, and tries again what a receiver may still take. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

export interface OtlpClientOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Of the OTLP specification: what may be sent again as it is. */
const RETRIED = new Set([429, 502, 503, 504]);
/** Tries of a message, the first included. */
const MAX_TRIES = 4;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/** Of an answer, which says little. */
const MAX_ANSWER_BYTES = 1 << 16;

export class OtlpClient {
  readonly #options: OtlpClientOptions;
  readonly #http = new HttpAgent({ keepAlive: true, maxSockets: 2 });
  readonly #https = new HttpsAgent({ keepAlive: true, maxSockets: 2 });
  readonly #closing = new AbortController();

  constructor(options: OtlpClientOptions) {
    this.#options = options;
  }

  /**
   * Never rejects.
   * @param body a JSON text.
   * @returns why it was not taken, or null.
   */
  async send(url: string, body: Buffer): Promise<string | null> {
    let waitMs = FIRST_WAIT_MS;
    for (let tries = 1; ; tries++) {
      const { status, reason, retryAfterMs } = await this.#post(url, body);
      if (status >= 200 && status < 300) return null;
      const mayTry = (status === 0 || RETRIED.has(status)) && tries < MAX_TRIES;
      if (!mayTry || this.#closing.signal.aborted) return reason;
      await this.#pause(Math.min(LONGEST_WAIT_MS, retryAfterMs ?? waitMs));
      waitMs *= 2;
    }
  }

  /** What is sent from now on is tried once. */
  hurry(): void {
    this.#closing.abort();
  }

  close(): void {
    this.hurry();
    this.#http.destroy();
    this.#https.destroy();
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

  /** @returns status 0 where there was no answer. */
  #post(url: string, body: Buffer): Promise<Posted> {
    const isTls = url.startsWith("https:");
    const { headers, timeoutMs } = this.#options;
    const options = {
      method: "POST",
      agent: isTls ? this.#https : this.#http,
      timeout: timeoutMs,
      headers: { ...headers, "content-type": "application/json", "content-length": body.length },
    };
    return new Promise((resolve) => {
      const request = (isTls ? httpsRequest : httpRequest)(url, options, (answer) => {
        void drained(answer).then(() => resolve(postedOf(answer)));
      });
      request.on("timeout", () => request.destroy(new Error(`no answer in ${timeoutMs} ms`)));
      request.on("error", (error) => resolve({ status: 0, reason: error.message }));
      // It keeps no process alive that has nothing else to do.
      request.on("socket", (socket) => socket.unref());
      request.end(body);
    });
  }
}

interface Posted {
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs?: number;
}

function postedOf({ statusCode = 0, headers }: IncomingMessage): Posted {
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  const posted = { status: statusCode, reason: `the receiver answered ${statusCode}` };
  return seconds > 0 ? { ...posted, retryAfterMs: seconds * 1000 } : posted;
}

function drained(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  answer.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) answer.destroy();
  });
  return new Promise((resolve) => {
    answer.once("close", resolve);
    answer.on("error", () => {});
  });
}

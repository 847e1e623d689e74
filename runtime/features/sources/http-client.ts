/** HTTP client for documents and files, with limits on size and idle time. */
import { open, readFile } from "node:fs/promises";
import { STATUS_CODES } from "node:http";
import { RuntimeError } from "../../base/errors.ts";
import {
  bytesOf,
  causeOf,
  expectPlain,
  type HttpAnswer,
  type HttpRequest,
  openHttp,
  retryAfterMs,
  TooLargeError,
} from "../../base/http-client.ts";
import { redacted } from "./policy-url.ts";
import { AwayError } from "./source-error.ts";

interface HttpClientOptions {
  /** Path of a file with a token or USER:PASSWORD; read for each request, because tokens rotate. */
  readonly tokenFile?: string | undefined;
  /** Longest time without data, and for a document without its bytes at the least rate, ms. */
  readonly timeoutMs?: number;
}

/** Response to a conditional request for a document. */
export type Answer =
  | { readonly kind: "unchanged" }
  | { readonly kind: "missing" }
  | { readonly kind: "found"; readonly bytes: Uint8Array; readonly validator: string | null };

interface Asked {
  /** Validator of the known version; null for none. */
  readonly validator?: string | null;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 30_000;
/** Least rate of a source, bytes per ms: above it, a large file may take as long as it needs. */
const MIN_RATE = 4;
const MAX_TOKEN_BYTES = 2 ** 14;
const MISSING = new Set([404, 410]);
const PARTIAL = 206;
const MAX_REDIRECTS = 5;
const RANGE_REFUSED = 416;
const DATE = "date:";
/** Reads the start of a range from a response. */
const CONTENT_RANGE = /^bytes (\d{1,15})-/;

export class HttpClient {
  readonly #tokenFile: string | undefined;
  readonly #timeoutMs: number;

  constructor({ tokenFile, timeoutMs = TIMEOUT_MS }: HttpClientOptions = {}) {
    this.#tokenFile = tokenFile;
    this.#timeoutMs = timeoutMs;
  }

  /** Gets a document. @throws AwayError unless it is found, unchanged or missing. */
  async get(url: string, { validator = null, maxBytes, signal }: Asked): Promise<Answer> {
    return this.#asking(url, signal, async () => {
      const headers = conditionOf(validator);
      const answer = await this.#open(url, { headers, signal });
      const isUnchanged = answer.status === 304 && validator !== null;
      if (isUnchanged || MISSING.has(answer.status)) {
        answer.body.drop();
        return { kind: isUnchanged ? "unchanged" : "missing" };
      }
      expectOk(url, answer);
      const bytes = await bytesOf(answer.body, maxBytes);
      return { kind: "found", bytes, validator: validatorOf(answer) };
    });
  }

  /**
   * Downloads a file, resuming an earlier attempt, and syncs it.
   * @returns bytes received.
   * @throws AwayError; the bytes received so far stay for the next attempt.
   */
  async download(url: string, path: string, { maxBytes, signal }: Asked): Promise<number> {
    const file = await open(path, "a+");
    try {
      const from = (await file.stat()).size;
      return await this.#asking(url, signal, async () => {
        const headers = from === 0 ? {} : { range: `bytes=${from}-` };
        const answer = await this.#open(url, { headers, signal });
        if (answer.status === RANGE_REFUSED && from > 0) {
          // The file is complete, or it is another one, which its digest shows.
          answer.body.drop();
          return 0;
        }
        expectOk(url, answer);
        const isRest = answer.status === PARTIAL && startOf(answer) === from;
        if (!isRest) await file.truncate(0);
        let came = 0;
        for await (const chunk of answer.body) {
          came += chunk.length;
          if (came > maxBytes - (isRest ? from : 0)) {
            throw new TooLargeError(`expected at most ${maxBytes} bytes, got more`);
          }
          await file.appendFile(chunk);
        }
        await file.sync();
        return came;
      });
    } finally {
      await file.close();
    }
  }

  /** Posts a document. @throws AwayError unless it was accepted. */
  async post(url: string, document: object, signal: AbortSignal): Promise<void> {
    await this.#asking(url, signal, async () => {
      const headers = { "content-type": "application/json" };
      const body = Buffer.from(JSON.stringify(document));
      const answer = await this.#open(url, { method: "POST", headers, body, signal });
      expectOk(url, answer);
      answer.body.drop();
    });
  }

  async #open(url: string, request: Omit<HttpRequest, "timeoutMs">): Promise<HttpAnswer> {
    const headers = { ...(await this.#credentialsFor(url)), ...request.headers };
    const limits = { timeoutMs: this.#timeoutMs, minRate: MIN_RATE, maxRedirects: MAX_REDIRECTS };
    return openHttp(url, { ...request, ...limits, headers });
  }

  /** Sends credentials only over HTTPS or to this machine. */
  async #credentialsFor(url: string): Promise<{ authorization?: string }> {
    if (this.#tokenFile === undefined) return {};
    const { protocol, hostname } = new URL(url);
    if (protocol !== "https:" && !isThisMachine(hostname)) return {};
    const token = await tokenOf(this.#tokenFile);
    // Only pairs contain a colon.
    const isPair = token.includes(":");
    const value = isPair ? `Basic ${Buffer.from(token).toString("base64")}` : `Bearer ${token}`;
    return { authorization: value };
  }

  async #asking<T>(url: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RuntimeError || isFileError(error)) throw error;
      if (error instanceof TooLargeError) throw new AwayError(`${redacted(url)}: ${error.message}`);
      throw new AwayError(`${redacted(url)}: expected an answer, got: ${causeOf(error)}`);
    }
  }
}

function expectOk(url: string, answer: HttpAnswer): void {
  const { status, headers, body } = answer;
  if (status >= 200 && status < 300) {
    expectPlain(answer);
    return;
  }
  body.drop();
  const found = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  throw new AwayError(`${redacted(url)}: expected 200 OK, got ${found}`, retryAfterMs(headers));
}

/** ETag, or else the modification date. */
function validatorOf({ headers }: HttpAnswer): string | null {
  const date = headers["last-modified"];
  return headers.etag ?? (date === undefined ? null : `${DATE}${date}`);
}

function conditionOf(validator: string | null): Record<string, string> {
  if (validator === null) return {};
  if (!validator.startsWith(DATE)) return { "if-none-match": validator };
  return { "if-modified-since": validator.slice(DATE.length) };
}

function startOf({ headers }: HttpAnswer): number {
  return Number(CONTENT_RANGE.exec(headers["content-range"] ?? "")?.[1] ?? Number.NaN);
}

/** @throws RuntimeError RUNTIME_UNREADABLE */
async function tokenOf(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    const found = error.code ?? error.message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a token, got: ${found}`);
  });
  const token = text.trim();
  if (token !== "" && token.length <= MAX_TOKEN_BYTES && !/\s/.test(token)) return token;
  const expected = "expected one line with a token or USER:PASSWORD";
  throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: ${expected}`);
}

function isThisMachine(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]", "::1"].includes(hostname);
}

/** Whether the error comes from the local disk and not from the source. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && "path" in error;
}

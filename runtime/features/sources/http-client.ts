/** Asks servers of the web for documents and files, within bounds of size and patience. */
import { open, readFile } from "node:fs/promises";
import { STATUS_CODES } from "node:http";
import { RuntimeError } from "../../base/errors.ts";
import {
  bytesOf,
  causeOf,
  type HttpAnswer,
  type HttpRequest,
  isIdle,
  openHttp,
  retryAfterMs,
  TooLargeError,
} from "../../base/http-client.ts";
import { told } from "./policy-url.ts";
import { AwayError } from "./source-error.ts";

interface HttpClientOptions {
  /** Path of the file that holds a token, or USER:PASSWORD; read each time, for tokens turn. */
  readonly tokenFile?: string | undefined;
  /** How long nothing may come, ms. */
  readonly stallMs?: number;
}

/** A document, as far as there is one that is not known already. */
export type Answer =
  | { readonly kind: "unchanged" }
  | { readonly kind: "missing" }
  | { readonly kind: "found"; readonly bytes: Uint8Array; readonly validator: string | null };

interface Asked {
  /** Of what was found before; null for none. */
  readonly validator?: string | null;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const STALL_MS = 30_000;
const MAX_TOKEN_BYTES = 2 ** 14;
const MISSING = new Set([404, 410]);
const PARTIAL = 206;
const MAX_REDIRECTS = 5;
const RANGE_REFUSED = 416;
const DATE = "date:";
/** In a range's answer, where it begins. */
const CONTENT_RANGE = /^bytes (\d{1,15})-/;

export class HttpClient {
  readonly #tokenFile: string | undefined;
  readonly #stallMs: number;

  constructor({ tokenFile, stallMs = STALL_MS }: HttpClientOptions = {}) {
    this.#tokenFile = tokenFile;
    this.#stallMs = stallMs;
  }

  /** A document. @throws AwayError unless it is there, known or missing. */
  async get(url: string, { validator = null, maxBytes, signal }: Asked): Promise<Answer> {
    return this.#asking(url, signal, async () => {
      const headers = conditionOf(validator);
      const answer = await this.#open(url, { headers, signal });
      const isUnchanged = answer.status === 304 && validator !== null;
      if (isUnchanged || MISSING.has(answer.status)) {
        answer.body.resume();
        return { kind: isUnchanged ? "unchanged" : "missing" };
      }
      expectOk(url, answer);
      const bytes = await bytesOf(answer.body, maxBytes);
      return { kind: "found", bytes, validator: validatorOf(answer) };
    });
  }

  /**
   * Writes a file from where an attempt before has left it, and syncs it.
   * @returns bytes that came over the net.
   * @throws AwayError; what came until then stays for the next attempt.
   */
  async download(url: string, path: string, { maxBytes, signal }: Asked): Promise<number> {
    const file = await open(path, "a+");
    try {
      const from = (await file.stat()).size;
      return await this.#asking(url, signal, async () => {
        const headers = from === 0 ? {} : { range: `bytes=${from}-` };
        const answer = await this.#open(url, { headers, signal });
        if (answer.status === RANGE_REFUSED && from > 0) {
          // There is no more of it than is here, or another file: its digest shows that.
          answer.body.resume();
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

  /** Sends a document. @throws AwayError unless it was taken. */
  async post(url: string, document: object, signal: AbortSignal): Promise<void> {
    await this.#asking(url, signal, async () => {
      const headers = { "content-type": "application/json" };
      const body = Buffer.from(JSON.stringify(document));
      const answer = await this.#open(url, { method: "POST", headers, body, signal });
      expectOk(url, answer);
      answer.body.resume();
    });
  }

  async #open(url: string, { headers, ...request }: HttpRequest): Promise<HttpAnswer> {
    const credentials = await this.#credentialsFor(url);
    const all = { "accept-encoding": "identity", ...credentials, ...headers };
    const limits = { idleMs: this.#stallMs, maxRedirects: MAX_REDIRECTS };
    return openHttp(url, { ...request, ...limits, headers: all });
  }

  /** Tokens go over connections that others can read to this machine alone. */
  async #credentialsFor(url: string): Promise<{ authorization?: string }> {
    if (this.#tokenFile === undefined) return {};
    const { protocol, hostname } = new URL(url);
    if (protocol !== "https:" && !isThisMachine(hostname)) return {};
    const token = await tokenOf(this.#tokenFile);
    // A token has no colon.
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
      if (error instanceof TooLargeError) throw new AwayError(`${told(url)}: ${error.message}`);
      const why = isIdle(error) ? `nothing for ${this.#stallMs} ms` : causeOf(error);
      throw new AwayError(`${told(url)}: expected an answer, got: ${why}`);
    }
  }
}

function expectOk(url: string, { status, headers, body }: HttpAnswer): void {
  if (status >= 200 && status < 300) return;
  body.resume();
  const found = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  throw new AwayError(`${told(url)}: expected 200 OK, got ${found}`, retryAfterMs(headers));
}

/** The tag of its version, or else its date. */
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
  const expected = "expected one line with a token, or USER:PASSWORD";
  throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: ${expected}`);
}

function isThisMachine(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]", "::1"].includes(hostname);
}

/** Of the disk, which is not the source's fault. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && "path" in error;
}

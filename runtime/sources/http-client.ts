/** Asks servers of the web for documents and files, within bounds of size and patience. */
import { open, readFile } from "node:fs/promises";
import { RuntimeError } from "../errors.ts";
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

export interface Asked {
  /** Of what was found before; null for none. */
  readonly validator?: string | null;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const STALL_MS = 30_000;
const MAX_TOKEN_BYTES = 2 ** 14;
const MISSING = new Set([404, 410]);
const PARTIAL = 206;
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
    return this.#patiently(url, signal, async (patience) => {
      const response = await this.#ask(url, { headers: conditionOf(validator) }, patience);
      const { status } = response;
      if (status === 304 && validator !== null) return { kind: "unchanged" };
      if (MISSING.has(status)) {
        await response.body?.cancel();
        return { kind: "missing" };
      }
      await expectOk(url, response);
      const chunks: Uint8Array[] = [];
      await drain(url, response, maxBytes, patience, async (chunk) => void chunks.push(chunk));
      return { kind: "found", bytes: Buffer.concat(chunks), validator: validatorOf(response) };
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
      return await this.#patiently(url, signal, async (patience) => {
        const range = from === 0 ? {} : { range: `bytes=${from}-` };
        const response = await this.#ask(url, { headers: range }, patience);
        if (response.status === RANGE_REFUSED && from > 0) {
          // There is no more of it than is here, or another file: its digest will tell.
          await response.body?.cancel();
          return 0;
        }
        await expectOk(url, response);
        const isRest = response.status === PARTIAL && startOf(response) === from;
        if (!isRest) await file.truncate(0);
        const left = maxBytes - (isRest ? from : 0);
        const came = await drain(url, response, left, patience, async (chunk) => {
          await file.appendFile(chunk);
        });
        await file.sync();
        return came;
      });
    } finally {
      await file.close();
    }
  }

  /** Sends a document. @throws AwayError unless it was taken. */
  async post(url: string, document: object, signal: AbortSignal): Promise<void> {
    await this.#patiently(url, signal, async (patience) => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(document);
      const response = await this.#ask(url, { method: "POST", headers, body }, patience);
      await expectOk(url, response);
      await response.body?.cancel();
    });
  }

  async #ask(
    url: string,
    { headers, ...init }: { method?: string; headers?: Record<string, string>; body?: string },
    { signal }: Patience,
  ): Promise<Response> {
    const credentials = await this.#credentialsFor(url);
    const all = { "accept-encoding": "identity", ...credentials, ...headers };
    const response = await fetch(url, { ...init, headers: all, signal, redirect: "follow" });
    if (url.startsWith("https:") && !response.url.startsWith("https:")) {
      await response.body?.cancel();
      throw new AwayError(`${told(url)}: expected an answer over TLS, got a redirect out of it`);
    }
    return response;
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

  async #patiently<T>(
    url: string,
    signal: AbortSignal,
    work: (patience: Patience) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const patience = new Patience(this.#stallMs, signal);
    try {
      return await work(patience);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RuntimeError) throw error;
      if (isFileError(error)) throw error;
      const why = patience.isOver ? `nothing for ${this.#stallMs} ms` : reasonOf(error);
      throw new AwayError(`${told(url)}: expected an answer, got: ${why}`);
    } finally {
      patience.end();
    }
  }
}

/** Ends what is asked once nothing has come for a while. */
class Patience {
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly signal: AbortSignal;
  isOver = false;

  constructor(stallMs: number, signal: AbortSignal) {
    this.signal = AbortSignal.any([this.#stop.signal, signal]);
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#stop.abort();
    }, stallMs).unref();
  }

  /** Something came. */
  renew(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function drain(
  url: string,
  response: Response,
  maxBytes: number,
  patience: Patience,
  take: (chunk: Uint8Array) => Promise<void>,
): Promise<number> {
  let byteCount = 0;
  for await (const chunk of response.body ?? []) {
    patience.renew();
    byteCount += chunk.length;
    if (byteCount > maxBytes) {
      throw new AwayError(`${told(url)}: expected at most ${maxBytes} bytes, got more`);
    }
    await take(chunk);
  }
  return byteCount;
}

async function expectOk(url: string, response: Response): Promise<void> {
  if (response.ok) return;
  const { status, statusText, headers } = response;
  await response.body?.cancel();
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const found = `${status} ${statusText}`.trim();
  const message = `${told(url)}: expected 200 OK, got ${found}`;
  throw new AwayError(message, seconds > 0 ? seconds * 1000 : null);
}

/** The tag of its version, or else its date. */
function validatorOf({ headers }: Response): string | null {
  const date = headers.get("last-modified");
  return headers.get("etag") ?? (date === null ? null : `${DATE}${date}`);
}

function conditionOf(validator: string | null): Record<string, string> {
  if (validator === null) return {};
  if (!validator.startsWith(DATE)) return { "if-none-match": validator };
  return { "if-modified-since": validator.slice(DATE.length) };
}

function startOf({ headers }: Response): number {
  return Number(CONTENT_RANGE.exec(headers.get("content-range") ?? "")?.[1] ?? Number.NaN);
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

/** What a connection failed of lies in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code, message } = cause as NodeJS.ErrnoException;
  return code ?? message ?? "no answer";
}

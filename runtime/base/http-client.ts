/** HTTP requests to other servers: one client, with limits of time and size. */
import { createReadStream } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import type { Agent, Dispatcher } from "undici";
import { Deadline, type TimeLimits } from "./deadline.ts";

/** Its limits hold from the look-up of the name to the last byte of the body. */
export interface HttpRequest extends TimeLimits {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody | undefined;
  /** Certificate authority of the server, PEM; the system's if left out. */
  readonly ca?: string | undefined;
  /**
   * Maximum number of redirects to follow, never out of TLS and with credentials for the same
   * origin only. If left out, a redirect is an answer like others.
   */
  readonly maxRedirects?: number;
}

/** Bytes, or the first bytes of a file. */
export type HttpBody = Uint8Array | { readonly path: string; readonly bytes: number };

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: HttpContent;
}

export interface WholeAnswer extends Omit<HttpAnswer, "body"> {
  readonly bytes: Buffer;
}

/** A redirect that must not be followed. */
export class RedirectError extends Error {}

/** More bytes came than allowed. */
export class TooLargeError extends Error {}

const CONNECT_MS = 10_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Bytes of a dropped body that are read so that its connection can be used again. */
const MAX_DROPPED_BYTES = 2 ** 16;

/** Agents by certificate authority. */
const agents = new Map<string | undefined, Agent>();

/**
 * Sends a request over a kept-alive connection. Nothing is decompressed or retried.
 * @throws RedirectError; DeadlineError; the reason of the signal; an Error whose reason `causeOf`
 * returns.
 */
export async function openHttp(first: string | URL, request: HttpRequest): Promise<HttpAnswer> {
  const { body } = request;
  const sentBytes = body instanceof Uint8Array ? body.length : (body?.bytes ?? 0);
  const deadline = new Deadline(request, sentBytes);
  try {
    // While it connects, undici notices no abort.
    return await Promise.race([followed(new URL(first), request, deadline), deadline.passed]);
  } catch (error) {
    deadline.end();
    throw error;
  }
}

async function followed(first: URL, request: HttpRequest, deadline: Deadline): Promise<HttpAnswer> {
  const { maxRedirects, headers = {} } = request;
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const { authorization: _, ...others } = headers;
    const isOwn = url.origin === first.origin;
    const answer = await send(url, { ...request, headers: isOwn ? headers : others }, deadline);
    const { location } = answer.headers;
    const leads = REDIRECTS.has(answer.statusCode) && location !== undefined;
    if (maxRedirects === undefined || !leads) {
      const body = new HttpContent(answer.body, deadline);
      return { status: answer.statusCode, headers: answer.headers, body };
    }
    await answer.body.dump({ limit: MAX_DROPPED_BYTES });
    const next = URL.canParse(String(location), url.href) ? new URL(String(location), url) : null;
    const isSafe = next?.protocol === "https:" || next?.protocol === url.protocol;
    if (next === null || !isSafe || redirects === maxRedirects) {
      const limit = maxRedirects === 0 ? "none" : `at most ${maxRedirects}, by ${url.protocol}`;
      throw new RedirectError(`got a redirect, but ${limit} may be followed`);
    }
    url = next;
  }
}

/**
 * Returns the whole answer.
 * @throws as `openHttp`, TooLargeError, and an Error if the content is compressed.
 */
export async function askHttp(
  url: string | URL,
  { maxBytes, ...request }: HttpRequest & { readonly maxBytes: number },
): Promise<WholeAnswer> {
  const { body, ...head } = await openHttp(url, request);
  expectPlain({ body, ...head });
  return { ...head, bytes: await bytesOf(body, maxBytes) };
}

/** Requests accept no compression. @throws Error naming the encoding of compressed content. */
export function expectPlain({ headers, body }: HttpAnswer): void {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding === "identity" || encoding === "") return;
  body.drop();
  throw new Error(`expected content without compression, got content-encoding ${encoding}`);
}

/** @throws TooLargeError, or an Error if the body is cut short. */
export async function bytesOf(body: HttpContent, maxBytes: number): Promise<Buffer> {
  const { bytes, isTooLarge } = await firstBytes(body, maxBytes);
  if (isTooLarge) throw new TooLargeError(`expected at most ${maxBytes} bytes, got more`);
  return bytes;
}

/**
 * Returns the bytes of a body, or the first `maxBytes` if it has more. @throws Error if it is cut
 * short.
 */
export async function firstBytes(
  body: HttpContent,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isTooLarge: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    // Leaving the loop ends the exchange.
    if (length > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isTooLarge: length > maxBytes };
}

/** Returns why a request failed: the system's error code, or a message on one line. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (/^E[A-Z]+$/.test(code)) return code;
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/\s+/g, " ").trim() || code || "no answer";
}

/** Returns the delay of a Retry-After header, ms; null without one. */
export function retryAfterMs({ "retry-after": text }: IncomingHttpHeaders): number | null {
  const seconds = Number(text ?? Number.NaN);
  return seconds > 0 ? seconds * 1000 : null;
}

/** Body of an answer, which must be read or dropped. */
export class HttpContent implements AsyncIterable<Buffer> {
  readonly #body: Dispatcher.ResponseData["body"];
  readonly #deadline: Deadline;

  constructor(body: Dispatcher.ResponseData["body"], deadline: Deadline) {
    // Readers get the error by reading; without a handler it would end the process.
    body.on("error", () => {}).once("close", () => deadline.end());
    this.#body = body;
    this.#deadline = deadline;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of this.#body) {
      this.#deadline.extend(chunk.length);
      yield chunk;
    }
  }

  /** Ends the exchange, after a little more of the body. */
  drop(): void {
    void this.#body.dump({ limit: MAX_DROPPED_BYTES }).catch(() => {});
  }
}

async function send(
  url: URL,
  { method = "GET", headers = {}, body, ca }: HttpRequest,
  { signal }: Deadline,
): Promise<Dispatcher.ResponseData> {
  const undici = await import("undici");
  const connect = { timeout: CONNECT_MS, ...(ca === undefined ? {} : { ca }) };
  // The deadline replaces the timeouts of undici.
  const unlimited = { headersTimeout: 0, bodyTimeout: 0 };
  const dispatcher = agents.get(ca) ?? new undici.Agent({ connect, ...unlimited });
  agents.set(ca, dispatcher);
  const isFile = body !== undefined && !(body instanceof Uint8Array);
  const length = isFile ? { "content-length": String(body.bytes) } : {};
  return undici.request(url, {
    dispatcher,
    method,
    headers: { "accept-encoding": "identity", ...headers, ...length },
    body: isFile
      ? createReadStream(body.path, { end: Math.max(0, body.bytes - 1) })
      : (body ?? null),
    signal,
  });
}

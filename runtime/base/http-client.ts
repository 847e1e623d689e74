/** HTTP requests to other servers: one client, with limits of time and size. */
import { createReadStream } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Agent } from "undici";

export interface HttpRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Limit for a connection without a byte, ms. */
  readonly idleMs?: number;
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
  /** Must be read or destroyed. */
  readonly body: Readable;
}

export interface WholeAnswer extends Omit<HttpAnswer, "body"> {
  readonly bytes: Buffer;
}

/** A redirect that must not be followed. */
export class RedirectError extends Error {}

/** More bytes came than allowed. */
export class TooLargeError extends Error {}

const IDLE_MS = 30_000;
const CONNECT_MS = 10_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const IDLE_CODES = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

let agent: Agent | undefined;

/**
 * Sends a request over a kept-alive connection. Nothing is decompressed or retried.
 * @throws RedirectError; the reason of the signal; an Error whose reason `causeOf` returns.
 */
export async function openHttp(first: string | URL, request: HttpRequest): Promise<HttpAnswer> {
  const { maxRedirects, headers = {} } = request;
  let url = new URL(first);
  for (let redirects = 0; ; redirects++) {
    const { authorization: _, ...others } = headers;
    const isOwn = url.origin === new URL(first).origin;
    const answer = await send(url, { ...request, headers: isOwn ? headers : others });
    const { location } = answer.headers;
    const leads = REDIRECTS.has(answer.status) && location !== undefined;
    if (maxRedirects === undefined || !leads) return answer;
    answer.body.resume();
    const next = URL.canParse(location, url.href) ? new URL(location, url) : null;
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
 * @param timeoutMs limit for all of it.
 * @throws as `openHttp`, and TooLargeError.
 */
export async function askHttp(
  url: string | URL,
  {
    timeoutMs,
    maxBytes,
    signal,
    ...request
  }: HttpRequest & { readonly timeoutMs: number; readonly maxBytes: number },
): Promise<WholeAnswer> {
  const limit = AbortSignal.timeout(timeoutMs);
  const until = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  const { body, ...head } = await openHttp(url, {
    idleMs: timeoutMs,
    ...request,
    signal: until,
  });
  return { ...head, bytes: await bytesOf(body, maxBytes) };
}

/** @throws TooLargeError, or an Error if the body is cut short. */
export async function bytesOf(body: Readable, maxBytes: number): Promise<Buffer> {
  const { bytes, isTooLarge } = await firstBytes(body, maxBytes);
  if (isTooLarge) throw new TooLargeError(`expected at most ${maxBytes} bytes, got more`);
  return bytes;
}

/**
 * Returns the bytes of a body, or the first `maxBytes` if it has more. @throws Error if it is cut
 * short.
 */
export async function firstBytes(
  body: Readable,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isTooLarge: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    // Leaving the loop destroys the body.
    if (length > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isTooLarge: length > maxBytes };
}

/** Whether nothing came for `idleMs`. */
export function isIdle(error: unknown): boolean {
  return error instanceof Error && "code" in error && IDLE_CODES.has(String(error.code));
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

async function send(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  const { method = "GET", headers = {}, body, signal, idleMs = IDLE_MS } = request;
  const undici = await import("undici");
  agent ??= new undici.Agent({ connect: { timeout: CONNECT_MS } });
  const isFile = body !== undefined && !(body instanceof Uint8Array);
  const answer = await undici.request(url, {
    dispatcher: agent,
    method,
    headers: isFile ? { ...headers, "content-length": String(body.bytes) } : headers,
    body: isFile
      ? createReadStream(body.path, { end: Math.max(0, body.bytes - 1) })
      : (body ?? null),
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
    signal: signal ?? null,
  });
  // Readers get the error by reading; without a handler it would end the process.
  answer.body.on("error", () => {});
  return { status: answer.statusCode, headers: answer.headers, body: answer.body };
}

/** What is refused of a request by its line and header alone, whatever it asks for. */
import type { IncomingMessage } from "node:http";
import { CLOSE, HttpError } from "./http-error.ts";

export interface HeadLimits {
  /** Of the request line and the header together. */
  readonly maxHeaderBytes: number;
  /** Fields of a header. */
  readonly maxHeaderFields: number;
}

/** Characters of a name or address with a port, RFC 3986 §3.2.2; the parts are not told apart. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/** @returns why the connection is of no use any more, or undefined. */
export function refusedHead(
  request: IncomingMessage,
  { maxHeaderFields }: HeadLimits,
): HttpError | undefined {
  const { httpVersionMajor, httpVersionMinor, httpVersion, rawHeaders } = request;
  if (httpVersionMajor !== 1) return refused(505, `expected HTTP/1.1, got HTTP/${httpVersion}`);
  if (rawHeaders.length > 2 * maxHeaderFields) {
    const found = rawHeaders.length / 2;
    return refused(431, `expected at most ${maxHeaderFields} fields in the header, got ${found}`);
  }
  return refusedHost(rawHeaders, httpVersionMinor) ?? refusedFraming(request);
}

/** RFC 9112 §3.2: a request of HTTP/1.1 names its host once. */
function refusedHost(rawHeaders: readonly string[], minor: number): HttpError | undefined {
  let hostCount = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    hostCount++;
    const host = rawHeaders[at + 1] ?? "";
    if (!HOST.test(host)) return refused(400, `Host: expected a name or an address, got ${host}`);
  }
  if (hostCount === 1 || (hostCount === 0 && minor === 0)) return undefined;
  return refused(400, `Host: expected the field once, got it ${hostCount} times`);
}

/** Other codings than chunks are not undone here, so the body would be taken for what it is not. */
function refusedFraming({ headers, httpVersionMinor }: IncomingMessage): HttpError | undefined {
  const coding = headers["transfer-encoding"];
  if (coding === undefined) return undefined;
  if (httpVersionMinor === 0) return refused(400, "Transfer-Encoding: HTTP/1.0 has none");
  if (coding.toLowerCase() === "chunked") return undefined;
  return refused(501, `Transfer-Encoding: expected chunked, got ${coding}`);
}

/** Whether bytes of the request may still come, which nobody reads unless they ask for them. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

function refused(status: number, message: string): HttpError {
  return new HttpError(status, message, CLOSE);
}

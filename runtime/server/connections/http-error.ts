/** Answers other than 200: the reason as JSON, also for bytes that are no HTTP request. */
import { STATUS_CODES } from "node:http";

/**
 * An answer other than 200, with its reason as JSON; thrown. Not an Error, because an overloaded
 * server must be able to refuse without the cost of a stack trace.
 */
export class HttpError {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.message = message;
    this.headers = headers;
  }
}

/** Headers of errors that a retry may avoid. */
export const RETRY_LATER = { "retry-after": "1" };
/** Headers of errors that must end the connection, since the next request's start is unknown. */
export const CLOSE = { connection: "close" };

/** UTF-16 units of a reason; it may repeat what the client sent, which has no such limit. */
const LONGEST_REASON = 1000;
/** Control and format characters, halves of surrogates, separators of lines and paragraphs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A reason as clients get it: cut, and with no character that a terminal or a log would obey. */
export function reasonText(message: string): string {
  const cut = message.length > LONGEST_REASON ? `${message.slice(0, LONGEST_REASON)}…` : message;
  return cut.replace(/\s+/g, " ").replace(UNPRINTABLE, "\ufffd");
}

/** @param id of the request. Default: none. */
export function reasonJson(message: string, id?: string): string {
  const error = reasonText(message);
  return JSON.stringify(id === undefined ? { error } : { error, id });
}

/** Error of Node's HTTP parser that ends a connection. */
export interface ParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/** First byte of a TLS record that opens a connection. */
const TLS_HANDSHAKE = 0x16;

export const REQUEST_CUT = "the connection ended before the request did";

const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "the header of the request took too long"],
  HPE_HEADER_OVERFLOW: [431, "the header of the request is too large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "the chunk extensions of the body are too large"],
  HPE_INVALID_EOF_STATE: [400, REQUEST_CUT],
  HPE_PAUSED_H2_UPGRADE: [505, "expected HTTP/1.1, got the preface of HTTP/2"],
};

export function parseRefusal({ code = "", message, rawPacket }: ParseError): HttpError {
  const known = REFUSALS[code];
  if (known !== undefined) return new HttpError(...known);
  if (code === "HPE_INVALID_METHOD" && rawPacket?.[0] === TLS_HANDSHAKE) {
    return new HttpError(400, "expected an HTTP request, got a TLS handshake: use http://");
  }
  if (message.includes("Invalid HTTP version")) {
    return new HttpError(505, "expected HTTP/1.1, got another version");
  }
  return new HttpError(400, `expected an HTTP request (${message})`);
}

/** The whole answer, for a connection on which it is the last. */
export function lastAnswer({ status, message, headers }: HttpError): string {
  const body = reasonJson(message);
  const fields = {
    ...headers,
    connection: "close",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`;
}

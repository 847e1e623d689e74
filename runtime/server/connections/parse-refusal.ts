/** What is said of bytes that the HTTP parser refused, where there is no request to answer. */
import { STATUS_CODES } from "node:http";
import { HttpError, reasonJson } from "./http-error.ts";

/** What Node tells of a connection that it cannot go on with. */
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

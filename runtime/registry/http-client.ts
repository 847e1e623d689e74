/**
 * One request over HTTP as it is: nothing is followed, tried again or decompressed, since digests
 * are of the bytes that were stored.
 */
import { createReadStream } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { packageVersion } from "../version.ts";
import { reasonOf, TransientError } from "./registry-errors.ts";

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: SentBody | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Bytes, or a file of so many. */
export type SentBody = Uint8Array | { readonly path: string; readonly bytes: number };

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Has to be read or destroyed. */
  readonly body: IncomingMessage;
}

/** Without a byte in either direction, a connection is given up. */
const IDLE_MS = 30_000;
/** What was sent whole is still to be digested and put away, which takes a registry its time. */
const IDLE_AFTER_SENDING_MS = 300_000;
const USER_AGENT = `stratagem/${packageVersion()}`;

/** @throws TransientError where there is no answer; the signal's reason once it is aborted. */
export function send({ method, url, headers, body, signal }: HttpRequest): Promise<HttpAnswer> {
  const length = bytesOf(body);
  const idleMs = body === undefined ? IDLE_MS : IDLE_AFTER_SENDING_MS;
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    method,
    headers: {
      "user-agent": USER_AGENT,
      ...headers,
      ...(length === null ? {} : { "content-length": length }),
    },
    timeout: idleMs,
    ...(signal === undefined ? {} : { signal }),
  });
  return new Promise((resolve, reject) => {
    request.on("response", (answer) => {
      // Whoever reads it is told by reading; whoever does not is not concerned.
      answer.on("error", () => {});
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
    });
    request.on("timeout", () => request.destroy(new Error(`nothing for ${idleMs / 1000} s`)));
    request.on("error", (error) => {
      reject(signal?.aborted === true ? signal.reason : new TransientError(reasonOf(error)));
    });
    if (body === undefined || body instanceof Uint8Array) {
      request.end(body);
      return;
    }
    const file = createReadStream(body.path, { end: Math.max(0, body.bytes - 1) });
    file.on("error", (error) => request.destroy(error));
    // A registry that refuses early does not want the rest.
    request.on("close", () => file.destroy());
    file.pipe(request);
  });
}

/**
 * The bytes of an answer, or the first of them where there are more than `maxBytes`.
 * @throws TransientError if it is cut.
 */
export async function bodyOf(
  { body }: HttpAnswer,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isTooLarge: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      // What leaves the loop destroys the answer.
      if (length > maxBytes) break;
    }
  } catch (error) {
    throw new TransientError(reasonOf(error));
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isTooLarge: length > maxBytes };
}

/** Null where nothing is sent. */
function bytesOf(body: SentBody | undefined): number | null {
  if (body === undefined) return null;
  return body instanceof Uint8Array ? body.length : body.bytes;
}

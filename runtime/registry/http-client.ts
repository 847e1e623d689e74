/**
 * Sends one request to a registry without redirects, retries or decompression, because digests
 * refer to the stored bytes.
 */
import {
  causeOf,
  firstBytes,
  type HttpAnswer,
  type HttpRequest,
  openHttp,
  RedirectError,
} from "../base/http-client.ts";
import { packageVersion } from "../base/version.ts";
import { TransientError } from "./registry-errors.ts";

const IDLE_MS = 30_000;
/**
 * Idle time after an upload, because a registry hashes and stores the content before it responds.
 */
const IDLE_AFTER_SENDING_MS = 300_000;
const USER_AGENT = `stratagem/${packageVersion()}`;

/** @throws RedirectError; TransientError without a response; the reason of an aborted signal. */
export async function send(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  const { headers, body, signal } = request;
  const idleMs = body === undefined ? IDLE_MS : IDLE_AFTER_SENDING_MS;
  const named = { "user-agent": USER_AGENT, ...headers };
  try {
    return await openHttp(url, { ...request, headers: named, idleMs });
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RedirectError) throw error;
    throw new TransientError(causeOf(error));
  }
}

/** Reads a body up to a limit. @throws TransientError if interrupted. */
export async function bodyOf({ body }: HttpAnswer, maxBytes: number) {
  return firstBytes(body, maxBytes).catch((error: unknown) => {
    throw new TransientError(causeOf(error));
  });
}

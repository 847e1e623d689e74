/**
 * One request to a registry as it is: nothing is followed, tried again or decompressed, since
 * digests are of the bytes that were stored.
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
/** A registry digests and stores what was sent before it answers. */
const IDLE_AFTER_SENDING_MS = 300_000;
const USER_AGENT = `stratagem/${packageVersion()}`;

/** @throws RedirectError; TransientError without an answer; the reason of an aborted signal. */
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

/** As `firstBytes`. @throws TransientError if it is cut. */
export async function bodyOf({ body }: HttpAnswer, maxBytes: number) {
  return firstBytes(body, maxBytes).catch((error: unknown) => {
    throw new TransientError(causeOf(error));
  });
}

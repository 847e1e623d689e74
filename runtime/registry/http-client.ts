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

/** Limit of an answer, of a pause within it, and of an upload beside its time at MIN_RATE. */
export interface RegistryTimeouts {
  readonly answerMs: number;
  /** Longer, because a registry hashes and stores the content before it responds. */
  readonly uploadMs: number;
}

export const TIMEOUTS: RegistryTimeouts = { answerMs: 30_000, uploadMs: 300_000 };
/** Least rate of a registry, bytes per ms. */
const MIN_RATE = 4;
const USER_AGENT = `stratagem/${packageVersion()}`;

/** @throws RedirectError; TransientError without a response; the reason of an aborted signal. */
export async function send(
  url: URL,
  request: Omit<HttpRequest, "timeoutMs">,
  timeouts: RegistryTimeouts,
): Promise<HttpAnswer> {
  const { headers, body, signal } = request;
  const timeoutMs = body === undefined ? timeouts.answerMs : timeouts.uploadMs;
  const named = { "user-agent": USER_AGENT, ...headers };
  try {
    return await openHttp(url, { ...request, headers: named, timeoutMs, minRate: MIN_RATE });
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

/** Sends requests to one registry with authentication, redirects and retries. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  causeOf,
  type HttpAnswer,
  type HttpRequest,
  RedirectError,
  retryAfterMs,
} from "../base/http-client.ts";
import type { Authorizer } from "./authorizer.ts";
import { bodyOf, type RegistryTimeouts, send } from "./http-client.ts";
import { MAX_WORDS_BYTES, registryError, TransientError, wordsOf } from "./registry-errors.ts";

interface TransportOptions {
  /** Name of the registry in messages. */
  readonly where: string;
  /** Protocol, host and port of the registry. */
  readonly origin: URL;
  readonly authorizer: Authorizer;
  readonly signal?: AbortSignal | undefined;
  readonly timeouts: RegistryTimeouts;
  /** First pause before a retry; doubles with each further one. */
  readonly retryMs: number;
}

interface Asked extends Pick<HttpRequest, "method" | "headers" | "body"> {
  readonly url: URL;
}

const MAX_REDIRECTS = 5;
/** Attempts per operation, including the first. */
const MAX_TRIES = 4;
const LONGEST_PAUSE_MS = 30_000;
/** Statuses after which a later attempt may succeed. */
const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504]);

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get where(): string {
    return this.#options.where;
  }

  /** URL on the registry. @param path such as `/v2/team/policy/manifests/latest`. */
  urlOf(path: string): URL {
    return new URL(path, this.#options.origin);
  }

  /**
   * Sends a request, after redirects and authentication, and returns the response with any
   * non-transient status. The caller must read or destroy the body.
   * @throws TransientError; RuntimeError RUNTIME_CREDENTIALS if access is denied.
   */
  async ask(asked: Asked): Promise<HttpAnswer> {
    const answer = await this.#followed(asked);
    if (answer.status !== 401) return this.#settled(answer);
    answer.body.drop();
    const { authorizer } = this.#options;
    await authorizer.answer(answer.headers["www-authenticate"]);
    const again = await this.#followed(asked);
    if (again.status !== 401) return this.#settled(again);
    again.body.drop();
    throw authorizer.refusal();
  }

  /**
   * Retries an operation a few times while it fails with TransientError.
   * @throws RuntimeError RUNTIME_REGISTRY with the last reason, or the reason of an aborted signal.
   */
  async retrying<T>(what: string, work: () => Promise<T>): Promise<T> {
    const { signal, retryMs, where } = this.#options;
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof TransientError)) throw error;
        if (tries === MAX_TRIES) {
          throw registryError(where, `${what}: ${error.message}, after ${MAX_TRIES} attempts`);
        }
        await this.#pause(error.retryAfterMs ?? retryMs * 2 ** (tries - 1));
      }
    }
  }

  /** @throws RuntimeError RUNTIME_REGISTRY, or RUNTIME_CREDENTIALS if access is denied. */
  async refuse(what: string, answer: HttpAnswer): Promise<never> {
    const { where, authorizer } = this.#options;
    const { bytes } = await bodyOf(answer, MAX_WORDS_BYTES);
    if (answer.status === 403) throw authorizer.refusal();
    throw registryError(where, `${what}: ${wordsOf(answer.status, bytes)}`);
  }

  async #settled(answer: HttpAnswer): Promise<HttpAnswer> {
    if (!TRANSIENT.has(answer.status)) return answer;
    const { bytes } = await bodyOf(answer, MAX_WORDS_BYTES);
    throw new TransientError(wordsOf(answer.status, bytes), retryAfterMs(answer.headers));
  }

  async #followed({ url, headers, ...asked }: Asked): Promise<HttpAnswer> {
    const { origin, authorizer, signal, where, timeouts } = this.#options;
    // Credentials are sent to the registry only, not to servers that it redirects to.
    const header = url.origin === origin.origin ? authorizer.header : undefined;
    const own = header === undefined ? {} : { authorization: header };
    const request = { ...asked, headers: { ...headers, ...own }, signal };
    const sent = send(url, { ...request, maxRedirects: MAX_REDIRECTS }, timeouts);
    return sent.catch((error: unknown) => {
      if (!(error instanceof RedirectError)) throw error;
      throw registryError(where, `expected a response or a redirect within ${url.protocol}`);
    });
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#options;
    try {
      const pauseMs = Math.min(LONGEST_PAUSE_MS, ms);
      await sleep(pauseMs, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw new TransientError(causeOf(error));
    }
  }
}

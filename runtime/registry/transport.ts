/** Requests to one registry: who we are is added, redirects followed, what failed tried again. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  causeOf,
  type HttpAnswer,
  type HttpRequest,
  RedirectError,
  retryAfterMs,
} from "../base/http-client.ts";
import type { Authorizer } from "./authorizer.ts";
import { bodyOf, send } from "./http-client.ts";
import { MAX_WORDS_BYTES, registryError, TransientError, wordsOf } from "./registry-errors.ts";

interface TransportOptions {
  /** As messages name the registry. */
  readonly where: string;
  /** Protocol, host and port of the registry. */
  readonly origin: URL;
  readonly authorizer: Authorizer;
  readonly signal?: AbortSignal | undefined;
  /** Of the first pause before something is tried again; each one after is twice as long. */
  readonly retryMs: number;
}

interface Asked extends Pick<HttpRequest, "method" | "headers" | "body"> {
  readonly url: URL;
}

const MAX_REDIRECTS = 5;
/** Tries of the same thing, the first included. */
const MAX_TRIES = 4;
const LONGEST_PAUSE_MS = 30_000;
/** What may be answered a moment later. */
const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504]);

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get where(): string {
    return this.#options.where;
  }

  /** Of the registry. @param path such as `/v2/team/policy/manifests/latest`. */
  urlOf(path: string): URL {
    return new URL(path, this.#options.origin);
  }

  /**
   * What the registry, or where it sends us, answers, whatever its status, but for what is
   * transient. Its body has to be read or destroyed.
   * @throws TransientError; RuntimeError RUNTIME_CREDENTIALS where we are not let in.
   */
  async ask(asked: Asked): Promise<HttpAnswer> {
    const answer = await this.#followed(asked);
    if (answer.status !== 401) return this.#settled(answer);
    answer.body.resume();
    const { authorizer } = this.#options;
    await authorizer.answer(answer.headers["www-authenticate"]);
    const again = await this.#followed(asked);
    if (again.status !== 401) return this.#settled(again);
    again.body.resume();
    throw authorizer.refusal();
  }

  /**
   * Does something until it succeeds, or fails with what is not transient, a few times.
   * @throws RuntimeError RUNTIME_REGISTRY with the last reason; the signal's once it is aborted.
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
          throw registryError(where, `${what}: ${error.message}, ${MAX_TRIES} times`);
        }
        await this.#pause(error.retryAfterMs ?? retryMs * 2 ** (tries - 1));
      }
    }
  }

  /** @throws RuntimeError RUNTIME_REGISTRY, or RUNTIME_CREDENTIALS for what we may not. */
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
    const { origin, authorizer, signal, where } = this.#options;
    // Credentials are for the registry, not for a server that it names.
    const header = url.origin === origin.origin ? authorizer.header : undefined;
    const own = header === undefined ? {} : { authorization: header };
    const request = { ...asked, headers: { ...headers, ...own }, signal };
    return send(url, { ...request, maxRedirects: MAX_REDIRECTS }).catch((error: unknown) => {
      if (!(error instanceof RedirectError)) throw error;
      throw registryError(where, `expected an answer, or to be sent to one by ${url.protocol}`);
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

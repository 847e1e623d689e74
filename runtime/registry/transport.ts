/** Requests to one registry: who we are is added, redirects followed, what failed tried again. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Authorizer } from "./authorizer.ts";
import { bodyOf, type HttpAnswer, type HttpRequest, send } from "./http-client.ts";
import {
  MAX_WORDS_BYTES,
  reasonOf,
  registryError,
  TransientError,
  wordsOf,
} from "./registry-errors.ts";

export interface TransportOptions {
  /** As messages name the registry. */
  readonly where: string;
  /** Protocol, host and port of the registry. */
  readonly origin: URL;
  readonly authorizer: Authorizer;
  readonly signal?: AbortSignal | undefined;
  /** Of the first pause before something is tried again; each one after is twice as long. */
  readonly retryMs: number;
}

type Asked = Omit<HttpRequest, "signal" | "headers"> & {
  readonly headers?: HttpRequest["headers"];
};

const MAX_REDIRECTS = 5;
/** Tries of the same thing, the first included. */
const MAX_TRIES = 4;
const LONGEST_PAUSE_MS = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
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
    const seconds = Number(answer.headers["retry-after"] ?? Number.NaN);
    const words = wordsOf(answer.status, bytes);
    throw new TransientError(words, seconds >= 0 ? seconds * 1000 : null);
  }

  async #followed({ method, headers = {}, body, url: first }: Asked): Promise<HttpAnswer> {
    const { origin, authorizer, signal, where } = this.#options;
    let url = first;
    for (let redirects = 0; ; redirects++) {
      // Who we are is the registry's business, and nobody's that it sends us to.
      const isOwn = url.origin === origin.origin;
      const header = isOwn ? authorizer.header : undefined;
      const own = header === undefined ? {} : { authorization: header };
      const answer = await send({ method, url, headers: { ...headers, ...own }, body, signal });
      const { location } = answer.headers;
      if (!REDIRECTS.has(answer.status) || location === undefined) return answer;
      answer.body.resume();
      const next = URL.canParse(location, url.href) ? new URL(location, url) : null;
      const isSafe = next?.protocol === "https:" || next?.protocol === origin.protocol;
      if (next === null || !isSafe || redirects === MAX_REDIRECTS) {
        throw registryError(where, `expected an answer, or to be sent to one by ${url.protocol}`);
      }
      url = next;
    }
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#options;
    try {
      const pauseMs = Math.min(LONGEST_PAUSE_MS, ms);
      await sleep(pauseMs, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw new TransientError(reasonOf(error));
    }
  }
}

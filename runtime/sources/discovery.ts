/** Asks for the document that names this site's bundles, and tells when it names others. */
import type { Notice } from "../server/telemetry/notice.ts";
import type { Labels } from "../trust/labels.ts";
import { MAX_DISCOVERY_BYTES, policiesFor, readDiscovery } from "./discovery-document.ts";
import { firstOfSource } from "./first-revision.ts";
import type { HttpClient } from "./http-client.ts";
import { nextPollMs, nextRetryMs, type Pace } from "./pace.ts";
import { namingStore, type PolicyStore } from "./policy-store.ts";
import { keyOf, told } from "./policy-url.ts";
import { AwayError, type Fault, faultOf } from "./source-error.ts";
import { realWait, type Wait } from "./wait.ts";

export interface DiscoveryOptions {
  readonly url: string;
  readonly client: HttpClient;
  readonly store: PolicyStore;
  readonly labels: Labels;
  readonly pace: Pace;
  readonly onNotice: Notice;
  /** Left out for real time. */
  readonly wait?: Wait;
}

/** URLs by application; of null the only one. */
export type Chosen = ReadonlyMap<string | null, string>;

/** What becomes of another choice. @throws RuntimeError where it cannot be followed. */
export type OnChosen = (chosen: Chosen) => Promise<void>;

export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #closing = new AbortController();
  #validator: string | null = null;
  /** What is asked for again after it; null where the last look was well. */
  #fault: Fault | null = null;
  #failures = 0;
  #retryMs = 0;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /**
   * What it names: as it was known last, or else as it is now.
   * @throws RuntimeError RUNTIME_DISCOVERY, RUNTIME_SOURCE, RUNTIME_STORE
   */
  async start(): Promise<Chosen> {
    const { url, store, labels, pace, wait = realWait } = this.#options;
    const kept = await namingStore(store.folder, () => store.document(this.#name));
    if (kept !== null) {
      try {
        return policiesFor(readDiscovery(kept, url), labels, url);
      } catch {
        // Labels may be others by now: what the document says of these decides.
      }
    }
    const { signal } = this.#closing;
    const ask = async () => {
      const chosen = await this.#ask();
      if (chosen !== null) return chosen;
      throw new AwayError(`${told(url)}: expected a document, got none`);
    };
    return firstOfSource(ask, null, pace, (ms) => wait(ms, signal));
  }

  /** Looks again and again from now on. */
  run(onChosen: OnChosen): void {
    this.#loop = this.#looks(onChosen);
  }

  /** As JSON has it. */
  document(): object {
    const { url } = this.#options;
    const fault = this.#fault;
    const error = fault === null ? null : { code: fault.code, message: fault.message };
    return { url: told(url), failures: this.#failures, error };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  async #looks(onChosen: OnChosen): Promise<void> {
    const { pace, wait = realWait } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#look(onChosen);
      await wait(this.#fault === null ? nextPollMs(pace) : this.#retryMs, signal);
    }
  }

  /** Never rejects. */
  async #look(onChosen: OnChosen): Promise<void> {
    const { onNotice, url, pace } = this.#options;
    const before = this.#validator;
    try {
      const chosen = await this.#ask();
      if (chosen !== null) await onChosen(chosen);
      if (this.#fault !== null) onNotice(`${told(url)}: it is followed again`, "info");
      this.#fault = null;
      this.#failures = 0;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#validator = before;
      const fault = faultOf(error);
      this.#failures++;
      const askedMs = error instanceof AwayError ? error.retryAfterMs : null;
      this.#retryMs = nextRetryMs(this.#failures, askedMs, pace);
      const isNew = fault.message !== this.#fault?.message;
      if (isNew) onNotice(`${fault.message}; what it said last is followed`, "warn");
      this.#fault = fault;
    }
  }

  /** Null where it says what it has said. */
  async #ask(): Promise<Chosen | null> {
    const { url, client, labels, store } = this.#options;
    const { signal } = this.#closing;
    const asked = { validator: this.#validator, maxBytes: MAX_DISCOVERY_BYTES, signal };
    const answer = await client.get(url, asked);
    if (answer.kind === "unchanged") return null;
    if (answer.kind === "missing") {
      throw new AwayError(`${told(url)}: expected a document, got 404: there is none`);
    }
    const chosen = policiesFor(readDiscovery(answer.bytes, url), labels, url);
    await namingStore(store.folder, () => store.keepDocument(this.#name, answer.bytes));
    this.#validator = answer.validator;
    return chosen;
  }

  get #name(): string {
    return `${keyOf(this.#options.url)}.json`;
  }
}

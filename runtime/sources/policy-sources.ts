/** The policies of a server that come from sources, beside those that are files. */
import { RuntimeError } from "../errors.ts";
import type { MetricLine } from "../server/metrics/exposition.ts";
import type { Notice } from "../server/telemetry/notice.ts";
import type { Labels } from "../trust/labels.ts";
import type { Trust } from "../trust/trust.ts";
import { type Chosen, Discovery } from "./discovery.ts";
import { FollowedPolicy, type Follower, type Following } from "./followed-policy.ts";
import { HttpClient } from "./http-client.ts";
import { openSource } from "./open-source.ts";
import type { Pace } from "./pace.ts";
import type { PolicySource } from "./policy-source.ts";
import { PolicyStore } from "./policy-store.ts";
import { keyOf, type PolicyUrl, policyUrlOf, told } from "./policy-url.ts";
import { StatusReports } from "./status-reports.ts";
import { policyLines, statusDocument } from "./status-told.ts";
import type { Wait } from "./wait.ts";

/** As settings have it. */
export interface SourceSettings {
  /** Of what is kept. */
  readonly storeFolder: string;
  readonly pollMs: number;
  /** Left out for nobody who is told. */
  readonly statusUrl?: string | undefined;
  /** Of the document that names the policies; left out where they are named by themselves. */
  readonly discovery?: string | undefined;
  /** Path of the file of a token for sources of the web. */
  readonly tokenFile?: string | undefined;
  /** Of this site; left out, it has none. */
  readonly labels?: Labels | undefined;
  /** Variables that say who we are to a registry; left out for none. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Ends a start that waits for a source. */
  readonly signal?: AbortSignal | undefined;
}

export interface SourcesOptions extends SourceSettings {
  /** Paths and URLs; none with `discovery`. */
  readonly policies: readonly string[];
  /** Whether the models of a place are of a folder of this machine. */
  readonly hasOwnModels: boolean;
  /** Null where nobody has to sign. */
  readonly trust: Pick<Trust, "expect"> | null;
  readonly version: string;
  readonly nowEpochMs: () => number;
  readonly onNotice: Notice;
  /** In [0, 1); left out for a random number. */
  readonly random?: () => number;
  /** Left out for real time. */
  readonly wait?: Wait;
}

/** What they need of the server, by the place of a policy among those of the server. */
export interface PlacesFollower {
  follow(place: number, path: string): Promise<Following>;
  inUse(place: number): readonly string[];
}

interface Place {
  /** Of a policy of the document; undefined where it is not from there. */
  readonly application: string | null | undefined;
  /** Where it comes from now. */
  text: string;
  readonly path: string;
  /** Null for a file. */
  readonly followed: FollowedPolicy | null;
}

export class PolicySources {
  readonly #options: SourcesOptions;
  readonly #client: HttpClient;
  readonly #store: PolicyStore;
  readonly #pace: Pace;
  readonly #places: Place[] = [];
  readonly #closing = new AbortController();
  #discovery: Discovery | null = null;
  #reports: StatusReports | null = null;

  private constructor(options: SourcesOptions, store: PolicyStore) {
    this.#options = options;
    this.#store = store;
    this.#client = new HttpClient({ tokenFile: options.tokenFile });
    this.#pace = { pollMs: options.pollMs, random: options.random ?? Math.random };
  }

  /** Of every source there is a bundle to start with then. @throws RuntimeError, BundleError */
  static async open(options: SourcesOptions): Promise<PolicySources> {
    const { statusUrl, signal } = options;
    if (statusUrl !== undefined) expectWeb(statusUrl, "--status-url");
    const sources = new PolicySources(options, await PolicyStore.open(options.storeFolder));
    const stop = () => void sources.close();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await sources.#start();
      return sources;
    } catch (error) {
      await sources.close();
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Of the bundles to start with, in the order of the server's places. */
  get paths(): readonly string[] {
    return this.#places.map(({ path }) => path);
  }

  /** Where the bundle of a place is from, as it may be told; null for a file. */
  nameOf(place: number): string | null {
    return this.#places[place]?.followed?.status.source ?? null;
  }

  /** Looks for what is new from now on. @param isReady kept once the first workers are ready. */
  run(follower: PlacesFollower, isReady: Promise<unknown>): void {
    for (const [place, { followed }] of this.#places.entries()) {
      const own: Follower = {
        follow: (path) => follower.follow(place, path),
        inUse: () => follower.inUse(place),
      };
      followed?.run(own, isReady);
    }
    this.#discovery?.run((chosen) => this.#choose(chosen));
    const { statusUrl: url, onNotice, wait } = this.#options;
    if (url === undefined) return;
    this.#reports = new StatusReports({
      ...{ url, onNotice, client: this.#client, pace: this.#pace, document: () => this.document() },
      ...(wait === undefined ? {} : { wait }),
    });
  }

  /** Asks now what the source of a place has; undefined for a file. Never rejects. */
  look(place: number): Promise<Following> | undefined {
    return this.#places[place]?.followed?.look();
  }

  /** For administrators and for `--status-url`. */
  document(): object {
    const { labels = {}, version } = this.#options;
    return {
      format: 1,
      version,
      labels,
      policies: this.#followed.map(({ status }) => statusDocument(status)),
      discovery: this.#discovery?.document() ?? null,
    };
  }

  lines(): readonly MetricLine[] {
    const statuses = this.#followed.map(({ status }) => status);
    return [...policyLines(statuses), ...(this.#reports?.lines() ?? [])];
  }

  /** Asks nobody any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#discovery?.close();
    await Promise.all(this.#followed.map((followed) => followed.close()));
    await this.#reports?.close();
  }

  get #followed(): FollowedPolicy[] {
    return this.#places.flatMap(({ followed }) => (followed === null ? [] : [followed]));
  }

  async #start(): Promise<void> {
    const { policies, discovery: url, labels = {}, onNotice, wait } = this.#options;
    if (url === undefined) {
      for (const text of policies) await this.#add(text, undefined, keyOf(text));
      return;
    }
    expectWeb(url, "--discovery");
    const [client, store, pace] = [this.#client, this.#store, this.#pace];
    const around = { client, store, pace, onNotice, ...(wait === undefined ? {} : { wait }) };
    const discovery = new Discovery({ url, labels, ...around });
    this.#discovery = discovery;
    for (const [application, text] of await discovery.start()) {
      // Kept by what it is of, so that another URL for it finds what was good.
      await this.#add(text, application, keyOf(`${url} ${application ?? ""}`));
    }
  }

  async #add(text: string, application: string | null | undefined, key: string): Promise<void> {
    const url = policyUrlOf(text);
    if (url === null) {
      this.#places.push({ application, text, path: text, followed: null });
      return;
    }
    const { trust, hasOwnModels, nowEpochMs, onNotice, wait } = this.#options;
    const source = await this.#open(url);
    const followed = new FollowedPolicy({
      ...{ source, trust, hasOwnModels, nowEpochMs, onNotice },
      ...(wait === undefined ? {} : { wait }),
      store: this.#store,
      policy: await this.#store.policy(key),
      pace: this.#pace,
      onChange: () => this.#reports?.changed(),
    });
    const stop = () => void followed.close();
    this.#closing.signal.addEventListener("abort", stop, { once: true });
    const path = await followed.start();
    this.#closing.signal.removeEventListener("abort", stop);
    this.#places.push({ application, text, path, followed });
  }

  async #open(url: PolicyUrl): Promise<PolicySource> {
    const { signal } = this.#closing;
    const { environment = {} } = this.#options;
    const partOf = (sha256: string) => this.#store.partOf(sha256);
    return openSource(url, { client: this.#client, partOf, environment, signal });
  }

  /** Applications stay: a server that gains or loses some starts again. */
  async #choose(chosen: Chosen): Promise<void> {
    const names = (all: Iterable<string | null>) =>
      [...all].map((name) => name ?? "one").join(", ");
    const known = this.#places.map((place) => place.application ?? null);
    const [now, before] = [names(chosen.keys()), names(known)];
    if (now !== before) {
      const what = `expected policies of the applications of this server, ${before}, got ${now}`;
      throw new RuntimeError("RUNTIME_DISCOVERY", `${what}; start it again to serve others`);
    }
    for (const place of this.#places) {
      const text = chosen.get(place.application ?? null);
      if (text === undefined || text === place.text) continue;
      const url = policyUrlOf(text, "--discovery");
      if (url === null) continue;
      await place.followed?.moveTo(await this.#open(url));
      place.text = text;
      this.#options.onNotice(`--discovery: ${told(text)} from now on`, "info");
    }
  }
}

/** @throws RuntimeError RUNTIME_USAGE */
function expectWeb(text: string, flag: string): void {
  if (policyUrlOf(text, flag)?.kind === "web" && URL.canParse(text)) return;
  throw new RuntimeError("RUNTIME_USAGE", `${flag}: expected an http(s) URL, got ${told(text)}`);
}

/** The policies of a server that come from sources, beside those that are files. */
import { RuntimeError } from "../../base/errors.ts";
import type { MetricLine } from "../../base/exposition.ts";
import type { Notice } from "../../base/notice.ts";
import type { Labels } from "../../bundles/trust/labels.ts";
import type { Trust } from "../../bundles/trust/trust.ts";
import { FollowedPolicy, type Follower, type Following } from "./followed-policy.ts";
import { HttpClient } from "./http-client.ts";
import { HttpSource } from "./http-source.ts";
import type { Pace } from "./pace.ts";
import type { PolicySource } from "./policy-source.ts";
import { PolicyStore } from "./policy-store.ts";
import { keyOf, type PolicyUrl, policyUrlOf, told } from "./policy-url.ts";
import { StatusReports } from "./status-reports.ts";
import { policyLines, statusDocument } from "./status-told.ts";

/** As settings have it. */
export interface SourceSettings {
  /** Of what is kept. */
  readonly storeFolder: string;
  readonly pollMs: number;
  /** Left out for nobody who is told. */
  readonly statusUrl?: string | undefined;
  /** Path of the file of a token for sources of the web. */
  readonly tokenFile?: string | undefined;
  /** Of this site; left out, it has none. */
  readonly labels?: Labels | undefined;
  /** Variables that say who we are to a registry; left out for none. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Ends a start that waits for a source. */
  readonly signal?: AbortSignal | undefined;
}

interface SourcesOptions extends SourceSettings {
  /** Paths and URLs. */
  readonly policies: readonly string[];
  /** Whether the models of a place are of a folder of this machine. */
  readonly hasOwnModels: boolean;
  /** Null where nobody has to sign. */
  readonly trust: Pick<Trust, "expect"> | null;
  readonly version: string;
  readonly nowEpochMs: () => number;
  readonly onNotice: Notice;
}

/** What they need of the server, by the place of a policy among those of the server. */
interface PlacesFollower {
  follow(place: number, path: string): Promise<Following>;
  inUse(place: number): readonly string[];
}

interface Place {
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
  #reports: StatusReports | null = null;

  private constructor(options: SourcesOptions, store: PolicyStore) {
    this.#options = options;
    this.#store = store;
    this.#client = new HttpClient({ tokenFile: options.tokenFile });
    this.#pace = { pollMs: options.pollMs, random: Math.random };
  }

  /** Of every source there is a bundle to start with then. @throws RuntimeError, BundleError */
  static async open(options: SourcesOptions): Promise<PolicySources> {
    const { statusUrl, signal } = options;
    if (statusUrl !== undefined) expectWeb(statusUrl);
    const sources = new PolicySources(options, await PolicyStore.open(options.storeFolder));
    const stop = () => void sources.close();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      for (const text of options.policies) await sources.#add(text);
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
    const { statusUrl: url, onNotice } = this.#options;
    if (url === undefined) return;
    this.#reports = new StatusReports({
      ...{ url, onNotice, client: this.#client, pace: this.#pace, document: () => this.document() },
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
    };
  }

  lines(): readonly MetricLine[] {
    const statuses = this.#followed.map(({ status }) => status);
    return [...policyLines(statuses), ...(this.#reports?.lines() ?? [])];
  }

  /** Asks nobody any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#followed.map((followed) => followed.close()));
    await this.#reports?.close();
  }

  get #followed(): FollowedPolicy[] {
    return this.#places.flatMap(({ followed }) => (followed === null ? [] : [followed]));
  }

  async #add(text: string): Promise<void> {
    const url = policyUrlOf(text);
    if (url === null) {
      this.#places.push({ path: text, followed: null });
      return;
    }
    const { trust, hasOwnModels, nowEpochMs, onNotice } = this.#options;
    const source = await this.#open(url);
    const followed = new FollowedPolicy({
      ...{ source, trust, hasOwnModels, nowEpochMs, onNotice },
      store: this.#store,
      policy: await this.#store.policy(keyOf(text)),
      pace: this.#pace,
      onChange: () => this.#reports?.changed(),
    });
    const stop = () => void followed.close();
    this.#closing.signal.addEventListener("abort", stop, { once: true });
    const path = await followed.start();
    this.#closing.signal.removeEventListener("abort", stop);
    this.#places.push({ path, followed });
  }

  /** Nothing of registries is loaded where none is named. */
  async #open({ kind, text }: PolicyUrl): Promise<PolicySource> {
    if (kind === "web") return new HttpSource(text, this.#client);
    const { RegistrySource } = await import("./registry-source.ts");
    const { environment = {} } = this.#options;
    const partOf = (sha256: string) => this.#store.partOf(sha256);
    return new RegistrySource(text, { partOf, environment, signal: this.#closing.signal });
  }
}

/** @throws RuntimeError RUNTIME_USAGE */
function expectWeb(text: string): void {
  const flag = "--status-url";
  if (policyUrlOf(text, flag)?.kind === "web" && URL.canParse(text)) return;
  throw new RuntimeError("RUNTIME_USAGE", `${flag}: expected an http(s) URL, got ${told(text)}`);
}

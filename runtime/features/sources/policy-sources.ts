/** Policies of a server that are followed from sources, along with those that are files. */
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
import { keyOf, type PolicyUrl, policyUrlOf, redacted } from "./policy-url.ts";
import { policyLines, statusDocument } from "./status-document.ts";
import { StatusReports } from "./status-reports.ts";

export interface SourceSettings {
  readonly storeFolder: string;
  readonly pollMs: number;
  /** Receiver of status reports; omitted for none. */
  readonly statusUrl?: string | undefined;
  /** Path of the file with a token for web sources. */
  readonly tokenFile?: string | undefined;
  /** Labels of this site; omitted for none. */
  readonly labels?: Labels | undefined;
  /** Variables with credentials for registries; omitted for none. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Aborts a start that waits for a source. */
  readonly signal?: AbortSignal | undefined;
}

interface SourcesOptions extends SourceSettings {
  /** Paths and URLs. */
  readonly policies: readonly string[];
  /** Whether models come from a local folder. */
  readonly hasOwnModels: boolean;
  /** Null if signatures are not required. */
  readonly trust: Pick<Trust, "expect"> | null;
  readonly version: string;
  readonly nowEpochMs: () => number;
  readonly onNotice: Notice;
}

/** Access to the server, with the place of a policy in the server's list. */
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

  /** Opens all sources and waits until each has a bundle. @throws RuntimeError, BundleError */
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

  /** Paths of the bundles to start with, in the order of the server's places. */
  get paths(): readonly string[] {
    return this.#places.map(({ path }) => path);
  }

  /** Source of the bundle at a place, without secrets; null for a file. */
  nameOf(place: number): string | null {
    return this.#places[place]?.followed?.status.source ?? null;
  }

  /** Starts to poll. @param isReady resolves once the first workers are ready. */
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

  /** Polls the source of a place now; undefined for a file. Never rejects. */
  look(place: number): Promise<Following> | undefined {
    return this.#places[place]?.followed?.look();
  }

  /** Status of all sources, for administrators and `--status-url`. */
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

  /** Stops polling and reporting. */
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

  /** Loads the registry client only if a registry is used. */
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
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `${flag}: expected an http(s) URL, got ${redacted(text)}`,
  );
}

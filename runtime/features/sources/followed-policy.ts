/**
 * A policy of the server that comes from a source: asked for what is new, which is staged, followed
 * or refused, while the last good one decides. Source: docs/decisions/0027-sources.md.
 */
import { createHash } from "node:crypto";
import type { Notice } from "../../base/notice.ts";
import { realWait, type Wait } from "../../base/wait.ts";
import type { Trust } from "../../bundles/trust/trust.ts";
import { firstOfSource, keptRevision } from "./first-revision.ts";
import { nextPollMs, nextRetryMs, type Pace, refusedAgainMs } from "./pace.ts";
import type { Found, PolicySource } from "./policy-source.ts";
import { type FoundBundle, PolicyStatus } from "./policy-status.ts";
import { namingStore, type PolicyStore } from "./policy-store.ts";
import { AwayError, type Fault, faultOf, isPassing } from "./source-error.ts";
import { type Staged, stage } from "./staging.ts";
import { revisionId, type StoredPolicy } from "./stored-policy.ts";

/** What has become of a bundle that the server was to follow. */
export interface Following {
  readonly isFollowed: boolean;
  /** In words. */
  readonly notice: string;
  /** Of the error; left out where it is followed. */
  readonly code?: string | undefined;
}

interface FollowedOptions {
  readonly source: PolicySource;
  readonly store: PolicyStore;
  readonly policy: StoredPolicy;
  /** Null where nobody has to sign. */
  readonly trust: Pick<Trust, "expect"> | null;
  readonly hasOwnModels: boolean;
  readonly pace: Pace;
  readonly nowEpochMs: () => number;
  readonly onNotice: Notice;
  /** Called when its status is another. */
  readonly onChange: () => void;
  /** Left out for real time. */
  readonly wait?: Wait;
}

/** What it needs of the server, once there is one. */
export interface Follower {
  /** Has the server follow the bundle of a path. Never rejects. */
  follow(path: string): Promise<Following>;
  /** Files and folders that somebody of the server may open again. */
  inUse(): readonly string[];
}

export class FollowedPolicy {
  readonly status: PolicyStatus;
  readonly #options: FollowedOptions;
  readonly #closing = new AbortController();
  readonly #source: PolicySource;
  /** Of what is settled: followed or refused. */
  #validator: string | null = null;
  #againEpochMs = 0;
  #retryMs = 0;
  /** What is followed, and not yet kept as good. */
  #unsettled: Staged | null = null;
  /** Whether workers are ready with what decides. */
  #isReady = false;
  /** Whether there is something to tell. */
  #isNews = false;
  #follower: Follower | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #loop: Promise<void> = Promise.resolve();
  #nudge = new AbortController();

  constructor(options: FollowedOptions) {
    this.#options = options;
    this.#source = options.source;
    this.status = new PolicyStatus(options.source.name);
  }

  /**
   * What the server starts with: the last good bundle, whatever the source has by now, or where
   * there is none what the source has.
   * @returns path of the bundle. @throws RuntimeError, BundleError
   */
  async start(): Promise<string> {
    const { policy, trust, wait = realWait, pace } = this.#options;
    const { signal } = this.#closing;
    const { staged, application, fault } = await keptRevision(policy, trust);
    this.status.application = application;
    const ask = () => this.#firstStaged();
    const pauseMs = (ms: number) => wait(ms, signal);
    const first = staged ?? (await firstOfSource(ask, fault, pace, pauseMs));
    this.#validator = first.revision.validator;
    this.status.decides(first, this.#options.nowEpochMs());
    this.#unsettled = first;
    return first.revision.path;
  }

  /** Looks again and again from now on. @param isReady kept once its first workers are ready. */
  run(follower: Follower, isReady: Promise<unknown>): void {
    this.#follower = follower;
    this.#loop = this.#looks();
    const looksAtOnce = () => this.#nudge.abort();
    const settle = () => {
      this.#isReady = true;
      return this.#inTurn(() => this.#settle());
    };
    isReady.then(settle).then(looksAtOnce, looksAtOnce);
  }

  /**
   * Asks now, also for what was refused before. Never rejects.
   * @returns what is to be said of it.
   */
  look(isAsked = true): Promise<Following> {
    return this.#inTurn(() => this.#look(isAsked));
  }

  /** Ends what is under way; what is staged stays so. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
    await this.#last;
  }

  async #looks(): Promise<void> {
    const { wait = realWait, pace } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const ms = this.status.away === null ? nextPollMs(pace) : this.#retryMs;
      this.#nudge = new AbortController();
      await wait(ms, AbortSignal.any([signal, this.#nudge.signal]));
      if (!signal.aborted) await this.look(false);
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #firstStaged(): Promise<Staged> {
    const found = await this.#source.look(null, this.#closing.signal);
    if (found === null) throw new AwayError(`${this.#source.name}: expected a bundle, got none`);
    return this.#stage(found);
  }

  /** Never rejects. */
  async #look(isAsked: boolean): Promise<Following> {
    const { nowEpochMs, onChange } = this.#options;
    const { status } = this;
    const follower = this.#follower;
    if (follower === null) return { isFollowed: false, notice: "the server is starting" };
    status.lookEpochMs = nowEpochMs();
    let following: Following;
    try {
      await this.#settle();
      const isAgain = status.refused !== null && (isAsked || nowEpochMs() >= this.#againEpochMs);
      const validator = isAgain ? null : this.#validator;
      const found = await this.#source.look(validator, this.#closing.signal);
      following = found === null ? this.#unchanged() : await this.#found(found, follower, isAgain);
      this.#answered();
    } catch (error) {
      following = this.#failed(error);
    }
    if (this.#isNews) onChange();
    this.#isNews = false;
    return following;
  }

  /** @throws Error where it could not be had. */
  async #found(found: Found, follower: Follower, isAgain: boolean): Promise<Following> {
    const { status } = this;
    const sha256 = createHash("sha256").update(found.bundle).digest("hex");
    const id = revisionId(sha256, found.envelope);
    if (id === status.inForce?.revision.id) {
      // Whoever published has gone back to it.
      this.#isNews ||= status.refused !== null;
      status.refused = null;
      this.#validator = found.validator;
      return this.#unchanged();
    }
    if (id === status.refused?.id && !isAgain) return this.#unchanged();
    let following: Following;
    try {
      const staged = await this.#stage(found);
      following = await this.#follow(staged, follower);
    } catch (error) {
      if (isPassing(error) || this.#closing.signal.aborted) throw error;
      following = { isFollowed: false, ...noticeOf(faultOf(error)) };
    }
    if (this.#closing.signal.aborted) return following;
    this.#validator = found.validator;
    if (!following.isFollowed) this.#refuse({ id, sha256 }, following);
    return following;
  }

  async #stage(found: Found): Promise<Staged> {
    const { status } = this;
    const { policy } = this.#options;
    const staging = {
      ...this.#options,
      name: this.#source.name,
      application: status.application,
      onBytes: (byteCount: number) => {
        status.byteCount += byteCount;
      },
    };
    const staged = await stage(found, staging, this.#closing.signal);
    await namingStore(policy.folder, () => policy.setCurrent(staged.revision.id));
    return staged;
  }

  async #follow(staged: Staged, follower: Follower): Promise<Following> {
    const { onNotice, nowEpochMs, policy, store } = this.#options;
    const following = await follower.follow(staged.revision.path);
    if (!following.isFollowed) return following;
    this.status.decides(staged, nowEpochMs());
    this.status.count("followed");
    this.#isNews = true;
    onNotice(`${this.#source.name}: ${following.notice}`, "info");
    this.#unsettled = staged;
    this.#isReady = true;
    await this.#settle();
    await namingStore(policy.folder, async () => {
      await policy.sweep(follower.inUse(), nowEpochMs());
      await store.sweep(nowEpochMs());
    });
    return following;
  }

  /**
   * Keeps what decides as the last good one. Its serial may be remembered by then: should the power
   * go before, the ones before are too old, and the next start finds this one as what was staged.
   */
  async #settle(): Promise<void> {
    const staged = this.#unsettled;
    if (staged === null || !this.#isReady) return;
    const { policy } = this.#options;
    await namingStore(policy.folder, () => policy.setGood(staged.revision.id));
    this.#unsettled = null;
  }

  #unchanged(): Following {
    const { refused, inForce } = this.status;
    this.status.count("unchanged");
    if (refused !== null) return { isFollowed: false, ...noticeOf(refused) };
    const name = this.#source.name;
    const notice = `${name}: it has what is served, SHA-256 ${inForce?.revision.sha256}`;
    return { isFollowed: true, notice };
  }

  #answered(): void {
    const { nowEpochMs, onNotice } = this.#options;
    const wasAway = this.status.away !== null;
    const isNews = this.status.answered(nowEpochMs());
    this.#isNews ||= isNews;
    if (wasAway) onNotice(`${this.#source.name}: it answers again`, "info");
  }

  /** @param found null where it could not be told what it is. */
  #refuse(found: FoundBundle | null, { code = "RUNTIME_SOURCE", notice }: Following): void {
    const { status } = this;
    const { nowEpochMs, onNotice, pace } = this.#options;
    const isNews = status.refuse(found, { code, message: notice }, nowEpochMs());
    this.#againEpochMs = nowEpochMs() + refusedAgainMs(status.refused?.tries ?? 1, pace);
    this.#isNews ||= isNews;
    if (isNews) onNotice(`${this.#source.name}: refused, ${code}: ${notice}`, "error");
  }

  #failed(error: unknown): Following {
    const { nowEpochMs, onNotice, pace } = this.#options;
    const fault = faultOf(error);
    const following = { isFollowed: false, ...noticeOf(fault) };
    if (this.#closing.signal.aborted) return following;
    if (!isPassing(error)) {
      // It has something that is no bundle at all.
      this.#refuse(null, following);
      this.#answered();
      return following;
    }
    const isNews = this.status.fail(fault, nowEpochMs());
    const askedMs = error instanceof AwayError ? error.retryAfterMs : null;
    this.#retryMs = nextRetryMs(this.status.away?.failures ?? 1, askedMs, pace);
    this.#isNews ||= isNews;
    if (isNews) onNotice(`${fault.message}; what was good last goes on deciding`, "warn");
    return following;
  }
}

function noticeOf({ code, message }: Fault): { readonly code: string; readonly notice: string } {
  return { code, notice: message };
}

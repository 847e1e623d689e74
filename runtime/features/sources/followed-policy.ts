/**
 * Follows one policy from a source: polls it, stages new bundles, and follows or rejects them while
 * the last good one decides. Source: docs/decisions/0027-sources.md.
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

/** Outcome of an attempt to follow a bundle. */
export interface Following {
  readonly isFollowed: boolean;
  readonly notice: string;
  /** Error code; omitted if the bundle is followed. */
  readonly code?: string | undefined;
}

interface FollowedOptions {
  readonly source: PolicySource;
  readonly store: PolicyStore;
  readonly policy: StoredPolicy;
  /** Null if signatures are not required. */
  readonly trust: Pick<Trust, "expect"> | null;
  readonly hasOwnModels: boolean;
  readonly pace: Pace;
  readonly nowEpochMs: () => number;
  readonly onNotice: Notice;
  /** Called when the status changes. */
  readonly onChange: () => void;
  /** Waits; by default in real time. */
  readonly wait?: Wait;
}

/** Longest time that a caller of `look` waits, ms; large models take longer. */
const ANSWER_MS = 60_000;

/** Access to the server, once it runs. */
export interface Follower {
  /** Makes the server follow the bundle at a path. Never rejects. */
  follow(path: string): Promise<Following>;
  /** Files and folders that the server may open again. */
  inUse(): readonly string[];
}

export class FollowedPolicy {
  readonly status: PolicyStatus;
  readonly #options: FollowedOptions;
  readonly #closing = new AbortController();
  readonly #source: PolicySource;
  /** Validator of the bundle that was last followed or rejected. */
  #validator: string | null = null;
  #againEpochMs = 0;
  #retryMs = 0;
  /** Followed, but not yet recorded as good. */
  #unsettled: Staged | null = null;
  /** Whether workers are ready with the bundle that decides. */
  #isReady = false;
  /** Whether the status has changed since the last report. */
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
   * Returns the bundle to start with: the last good one, whatever the source has now, or else the
   * source's.
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

  /** Starts to poll. @param isReady resolves once the first workers are ready. */
  run(follower: Follower, isReady: Promise<unknown>): void {
    this.#follower = follower;
    this.#loop = this.#pollLoop();
    const pollNow = () => this.#nudge.abort();
    const settle = () => {
      this.#isReady = true;
      return this.#inTurn(() => this.#settle());
    };
    isReady.then(settle).then(pollNow, pollNow);
  }

  /**
   * Polls now. Never rejects, and returns in time although the poll may go on.
   * @param isAsked whether a rejected bundle is tried again at once.
   * @returns the outcome, with a message.
   */
  async look(isAsked = true): Promise<Following> {
    const looked = this.#inTurn(() => this.#look(isAsked));
    if (!isAsked) return looked;
    const { wait = realWait } = this.#options;
    const answered = new AbortController();
    const late = wait(ANSWER_MS, answered.signal).then((): Following => {
      const found = `it is still being asked after ${ANSWER_MS / 1000} s`;
      const notice = `${this.#source.name}: ${found}; GET /admin/policies shows the outcome`;
      return { isFollowed: false, code: "RUNTIME_SOURCE", notice };
    });
    const following = await Promise.race([looked, late]);
    answered.abort();
    return following;
  }

  /** Ends running work; staged revisions stay. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
    await this.#last;
  }

  async #pollLoop(): Promise<void> {
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

  /** Polls once; never rejects. */
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

  /** @throws Error if the bundle cannot be fetched. */
  async #found(found: Found, follower: Follower, isAgain: boolean): Promise<Following> {
    const { status } = this;
    const sha256 = createHash("sha256").update(found.bundle).digest("hex");
    const id = revisionId(sha256, found.envelope);
    if (id === status.inForce?.revision.id) {
      // The publisher returned to the bundle in force.
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
   * Records the deciding bundle as the last good one. Its serial may already be recorded: after a
   * power loss at this point the earlier bundles are too old, and the next start uses this one,
   * which was staged last.
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
    const notice = `${name}: unchanged, SHA-256 ${inForce?.revision.sha256}`;
    return { isFollowed: true, notice };
  }

  #answered(): void {
    const { nowEpochMs, onNotice } = this.#options;
    const wasAway = this.status.away !== null;
    const isNews = this.status.answered(nowEpochMs());
    this.#isNews ||= isNews;
    if (wasAway) onNotice(`${this.#source.name}: reachable again`, "info");
  }

  /** @param found null if the bundle could not be identified. */
  #refuse(found: FoundBundle | null, { code = "RUNTIME_SOURCE", notice }: Following): void {
    const { status } = this;
    const { nowEpochMs, onNotice, pace } = this.#options;
    const isNews = status.refuse(found, { code, message: notice }, nowEpochMs());
    this.#againEpochMs = nowEpochMs() + refusedAgainMs(status.refused?.tries ?? 1, pace);
    this.#isNews ||= isNews;
    if (isNews) onNotice(`${this.#source.name}: bundle rejected, ${code}: ${notice}`, "error");
  }

  #failed(error: unknown): Following {
    const { nowEpochMs, onNotice, pace } = this.#options;
    const fault = faultOf(error);
    const following = { isFollowed: false, ...noticeOf(fault) };
    if (this.#closing.signal.aborted) return following;
    if (!isPassing(error)) {
      // The source has something that is not a bundle.
      this.#refuse(null, following);
      this.#answered();
      return following;
    }
    const isNews = this.status.fail(fault, nowEpochMs());
    const askedMs = error instanceof AwayError ? error.retryAfterMs : null;
    this.#retryMs = nextRetryMs(this.status.away?.failures ?? 1, askedMs, pace);
    this.#isNews ||= isNews;
    if (isNews) onNotice(`${fault.message}; the last good bundle stays in force`, "warn");
    return following;
  }
}

function noticeOf({ code, message }: Fault): { readonly code: string; readonly notice: string } {
  return { code, notice: message };
}

/** Life of one canary, from its file until it is promoted or rolled back. */

import type { Application } from "../../server/applications/application.ts";
import { clientDifference } from "../../server/applications/client-difference.ts";
import type { Trial } from "../../server/applications/trial.ts";
import type { Hosted, PromiseGate } from "../server-feature.ts";
import { type Beside, type BesideContext, openBeside, worsePromises } from "./canary-hosting.ts";
import type { CanaryReport } from "./canary-report.ts";
import type { Arms } from "./comparison.ts";
import { Judgement, type Progress } from "./judgement.ts";

/** Canary as configured by the operator. */
export interface AskedCanary {
  readonly policy: string;
  /** Ascending shares of the requests, each 0..1; at least one. */
  readonly shares: readonly number[];
}

export interface CanaryRules {
  /** Minimum time of good results at each share. */
  readonly timeMs: number;
  /** Share of its requests that may be late or failed beyond those of the stable bundle, 0..1. */
  readonly tolerance: number;
  /** Checks its promises against the stable bundle's; undefined if they are not compared. */
  readonly gate?: PromiseGate | undefined;
}

export interface CanaryContext extends CanaryRules, BesideContext {
  /** Whether the server is shutting down. */
  readonly isStopped: () => boolean;
}

/** State while requests are split and judged. */
interface Tried {
  readonly trial: Trial;
  readonly judgement: Judgement;
  /** Digest of the stable bundle. */
  readonly stableSha256: string | undefined;
}

export class CanaryRun {
  readonly #asked: AskedCanary;
  readonly #context: CanaryContext;
  #state: CanaryReport["state"] = "starting";
  #because = "";
  #application = "";
  #sha256 = "";
  #step = 0;
  #beside: Beside | undefined;
  #tried: Tried | undefined;
  /** Counts at the end of the trial. */
  #lastArms: Arms | undefined;
  /** Whether it is being promoted or rolled back. */
  #isSettling = false;

  constructor(asked: AskedCanary, context: CanaryContext) {
    this.#asked = asked;
    this.#context = context;
  }

  get state(): CanaryReport["state"] {
    return this.#state;
  }

  /** Application of the bundle; empty until the bundle was read. */
  get application(): string {
    return this.#application;
  }

  get policy(): string {
    return this.#asked.policy;
  }

  /** Place of the stable bundle; undefined unless the canary's workers run. */
  get place(): number | undefined {
    return this.#beside?.place;
  }

  get because(): string {
    return this.#because;
  }

  /** Starts the workers, and splits requests once they are ready. Never rejects. */
  async open(): Promise<void> {
    const { policy } = this.#asked;
    try {
      const beside = await this.#opened();
      this.#beside = beside;
      this.#state = "tried";
      this.#begin();
      const { sha256 } = beside.next;
      this.#notify(`${policy} receives ${this.#shareText()}, SHA-256 ${sha256}`, "info");
    } catch (error) {
      this.#state = "rolled back";
      this.#because = error instanceof Error ? error.message : String(error);
      const isMeant = this.#context.isStopped();
      this.#notify(`${policy} could not be started: ${this.#because}`, isMeant ? "info" : "error");
    }
  }

  /** Called about once a second. */
  look(): void {
    const [tried, beside] = [this.#tried, this.#beside];
    if (tried === undefined || beside === undefined || this.#isSettling) return;
    const { trial, judgement, stableSha256 } = tried;
    const stable = this.#context.host.server.trials.stableAt(beside.place);
    if (stable !== trial.stable || stable.endpoint.bundleSha256 !== stableSha256) {
      this.#onOtherStable(stable, beside.next);
      return;
    }
    const observed = {
      arms: armsOf(trial),
      stablePromises: stable.promises(),
      canaryPromises: trial.candidate.promises(),
      isReady: trial.candidate.endpoint.isReady,
    };
    const verdict = judgement.look(observed, this.#context.host.nowMs());
    if (verdict?.kind === "worse") void this.rollBack(verdict.because);
    else if (verdict !== undefined) this.#onGood(verdict.because);
  }

  /** @returns null, or the reason for a failure. */
  async promote(because: string): Promise<string | null> {
    const [tried, beside] = [this.#tried, this.#beside];
    if (tried === undefined || beside === undefined || this.#isSettling) return this.#notTried();
    this.#isSettling = true;
    const { host } = this.#context;
    try {
      await host.adopt(beside.place, beside.next, () =>
        host.server.trials.promote(this.#tried?.trial ?? tried.trial),
      );
    } catch (error) {
      this.#isSettling = false;
      return error instanceof Error ? error.message : String(error);
    }
    this.#end("promoted", because);
    this.#notify(`${this.policy} is promoted and answers all requests: ${because}`, "info");
    return null;
  }

  /** @returns null, or the reason for a failure. */
  async rollBack(because: string): Promise<string | null> {
    const beside = this.#beside;
    if (beside === undefined || this.#isSettling) return this.#notTried();
    this.#isSettling = true;
    const { trials } = this.#context.host.server;
    const { application, files } = beside.next;
    this.#end("rolled back", because);
    this.#notify(`${this.policy} is rolled back: ${because}`, "warn");
    await trials.end(application);
    await files.close();
    return null;
  }

  report(): CanaryReport {
    const { policy, shares } = this.#asked;
    const [tried, arms] = [this.#tried, this.#arms];
    return {
      application: this.#application,
      policy,
      sha256: this.#sha256,
      state: this.#state,
      because: this.#because,
      share: tried?.trial.share ?? 0,
      shares,
      ...(arms === undefined ? {} : { requests: arms }),
      ...(tried === undefined ? {} : progressOf(tried.judgement, this.#context.host.nowMs())),
    };
  }

  /** Counts at the current share, or at the last one. */
  get #arms(): Arms | undefined {
    return this.#tried === undefined ? this.#lastArms : armsOf(this.#tried.trial);
  }

  /** Undefined unless it is on trial. */
  progress(): Progress | undefined {
    return this.#tried?.judgement.progress(this.#context.host.nowMs());
  }

  /** Called after the server was closed. */
  async close(): Promise<void> {
    await this.#beside?.next.files.close();
    this.#beside = undefined;
    this.#tried = undefined;
  }

  /**
   * @throws BundleError, RuntimeError, and the errors of starting workers; everything opened is
   * closed then.
   */
  async #opened(): Promise<Beside> {
    const loaded = await this.#context.host.load(this.policy);
    this.#application = loaded.bundle.application;
    this.#sha256 = loaded.sha256;
    return openBeside(loaded, this.#context, (message, severity) => {
      const isOwn = this.#state === "promoted";
      this.#context.host.onNotice(isOwn ? message : `canary: ${message}`, severity);
    });
  }

  /** Starts to count and judge at the share of the current step. */
  #begin(): void {
    const { host, timeMs, tolerance } = this.#context;
    const { trials } = host.server;
    const stable = trials.stableAt(this.#beside?.place ?? -1);
    const share = this.#asked.shares[this.#step];
    if (stable === undefined || this.#beside === undefined || share === undefined) return;
    const trial = trials.begin(stable, this.#beside.next.application, share);
    const judgement = new Judgement({ timeMs, tolerance }, armsOf(trial), host.nowMs());
    this.#tried = { trial, judgement, stableSha256: stable.endpoint.bundleSha256 };
  }

  #onGood(because: string): void {
    if (this.#step + 1 >= this.#asked.shares.length) {
      void this.#take(because).then((refused) => {
        if (refused !== null) this.#notify(`${this.policy} is not promoted: ${refused}`, "warn");
      });
      return;
    }
    this.#step++;
    this.#begin();
    this.#notify(`${this.policy} now receives ${this.#shareText()}: ${because}`, "info");
  }

  /**
   * Checks the gate again, because the stable bundle may have been reloaded. @returns see
   * `promote`.
   */
  async #take(because: string): Promise<string | null> {
    const { gate, host } = this.#context;
    const beside = this.#beside;
    const stable = host.hosted()[beside?.place ?? -1];
    if (beside === undefined || stable === undefined) return this.#notTried();
    const worse = await worsePromises(gate, stable.bundle, beside.next.bundle);
    return worse === null ? this.promote(because) : this.rollBack(`the gate rejects it: ${worse}`);
  }

  /** Handles a reload of the stable bundle, which makes the previous counts meaningless. */
  #onOtherStable(stable: Application | undefined, next: Hosted): void {
    const difference =
      stable === undefined ? "none is served" : clientDifference(stable, next.application);
    if (difference !== null) void this.rollBack(`the served bundle has changed: ${difference}`);
    else if (stable?.endpoint.bundleSha256 === next.sha256) {
      void this.rollBack("the same bundle is now served");
    } else {
      this.#begin();
      this.#notify(`${this.policy}: the served bundle has changed; the trial starts again`, "info");
    }
  }

  #end(state: "promoted" | "rolled back", because: string): void {
    this.#lastArms = this.#arms;
    this.#state = state;
    this.#because = because;
    this.#tried = undefined;
    this.#beside = undefined;
    this.#isSettling = false;
  }

  #notTried(): string {
    return `${this.policy} is not on trial: it is ${this.#isSettling ? "settling" : this.#state}`;
  }

  #shareText(): string {
    const share = this.#asked.shares[this.#step] ?? 0;
    return `${Number((100 * share).toPrecision(6))} % of the requests`;
  }

  #notify(message: string, severity: "info" | "warn" | "error"): void {
    const { host } = this.#context;
    const whose = host.isOnly || this.#application === "" ? "" : ` of ${this.#application}`;
    host.onNotice(`canary${whose}: ${message}`, severity);
  }
}

function armsOf({ arms: { stable, candidate } }: Trial): Arms {
  return { stable, canary: candidate };
}

function progressOf(
  judgement: Judgement,
  nowMs: number,
): Pick<CanaryReport, "evidence" | "leftMs"> {
  const { evidenceFor, evidenceAgainst, leftMs } = judgement.progress(nowMs);
  return { evidence: { for: evidenceFor, against: evidenceAgainst }, leftMs };
}

/** A bundle that is tried beside the one that is served: from its file until it is taken or not. */

import type { Application } from "../../server/applications/application.ts";
import { clientDifference } from "../../server/applications/client-difference.ts";
import type { Trial } from "../../server/applications/trial.ts";
import type { Hosted, PromiseGate } from "../server-feature.ts";
import {
  type Beside,
  type BesideSurroundings,
  openBeside,
  worsePromises,
} from "./canary-hosting.ts";
import type { Arms } from "./comparison.ts";
import { Judgement, type Progress } from "./judgement.ts";
import type { CanaryReport } from "./told.ts";

/** What an operator asks for. */
export interface AskedCanary {
  /** Path of its bundle. */
  readonly policy: string;
  /** Of the requests, one after the other, each 0..1; at least one. */
  readonly shares: readonly number[];
}

export interface CanaryRules {
  /** How long it has to do well at each share, at least. */
  readonly timeMs: number;
  /** Share of its requests that may be late or failed beyond those of the other bundle, 0..1. */
  readonly tolerance: number;
  /** Whether its promises may follow those beside it; left out where nobody compares them. */
  readonly gate?: PromiseGate | undefined;
}

/** What a run has around it. */
export interface CanarySurroundings extends CanaryRules, BesideSurroundings {
  /** Whether the server is shutting down. */
  readonly isStopped: () => boolean;
}

/** Requests are split, and judged. */
interface Tried {
  readonly trial: Trial;
  readonly judgement: Judgement;
  /** Of the bundle beside it. */
  readonly stableSha256: string | undefined;
}

export class CanaryRun {
  readonly #asked: AskedCanary;
  readonly #around: CanarySurroundings;
  #state: CanaryReport["state"] = "starting";
  #because = "";
  #application = "";
  #sha256 = "";
  #step = 0;
  #beside: Beside | undefined;
  #tried: Tried | undefined;
  /** What was counted when it ended. */
  #lastArms: Arms | undefined;
  /** It is being taken or given up. */
  #isSettling = false;

  constructor(asked: AskedCanary, around: CanarySurroundings) {
    this.#asked = asked;
    this.#around = around;
  }

  get state(): CanaryReport["state"] {
    return this.#state;
  }

  /** Of its bundle; empty until that was read. */
  get application(): string {
    return this.#application;
  }

  get policy(): string {
    return this.#asked.policy;
  }

  /** Of the bundle beside which it runs; undefined while its workers do not. */
  get place(): number | undefined {
    return this.#beside?.place;
  }

  get because(): string {
    return this.#because;
  }

  /** Starts its workers, and splits requests once they are ready. Never rejects. */
  async open(): Promise<void> {
    const { policy } = this.#asked;
    try {
      const beside = await this.#opened();
      this.#beside = beside;
      this.#state = "tried";
      this.#begin();
      const { sha256 } = beside.next;
      this.#tell(`${policy} is tried with ${this.#shareText()}, SHA-256 ${sha256}`, "info");
    } catch (error) {
      this.#state = "rolled back";
      this.#because = error instanceof Error ? error.message : String(error);
      const isMeant = this.#around.isStopped();
      this.#tell(`${policy} is not tried: ${this.#because}`, isMeant ? "info" : "error");
    }
  }

  /** About once a second. */
  look(): void {
    const [tried, beside] = [this.#tried, this.#beside];
    if (tried === undefined || beside === undefined || this.#isSettling) return;
    const { trial, judgement, stableSha256 } = tried;
    const stable = this.#around.host.server.trials.stableAt(beside.place);
    if (stable !== trial.stable || stable.endpoint.bundleSha256 !== stableSha256) {
      this.#onOtherStable(stable, beside.next);
      return;
    }
    const seen = {
      arms: armsOf(trial),
      stablePromises: stable.promises(),
      canaryPromises: trial.candidate.promises(),
      isReady: trial.candidate.endpoint.isReady,
    };
    const verdict = judgement.look(seen, this.#around.host.nowMs());
    if (verdict?.kind === "worse") void this.rollBack(verdict.because);
    else if (verdict !== undefined) this.#onGood(verdict.because);
  }

  /** @returns null, or why it cannot be. */
  async promote(because: string): Promise<string | null> {
    const [tried, beside] = [this.#tried, this.#beside];
    if (tried === undefined || beside === undefined || this.#isSettling) return this.#notTried();
    this.#isSettling = true;
    const { host } = this.#around;
    try {
      await host.adopt(beside.place, beside.next, () =>
        host.server.trials.promote(this.#tried?.trial ?? tried.trial),
      );
    } catch (error) {
      this.#isSettling = false;
      return error instanceof Error ? error.message : String(error);
    }
    this.#end("promoted", because);
    this.#tell(`${this.policy} answers all requests from now on: ${because}`, "info");
    return null;
  }

  /** @returns null, or why it cannot be. */
  async rollBack(because: string): Promise<string | null> {
    const beside = this.#beside;
    if (beside === undefined || this.#isSettling) return this.#notTried();
    this.#isSettling = true;
    const { trials } = this.#around.host.server;
    const { application, files } = beside.next;
    this.#end("rolled back", because);
    this.#tell(`${this.policy} is rolled back: ${because}`, "warn");
    await trials.end(application);
    await files.close();
    return null;
  }

  told(): CanaryReport {
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
      ...(tried === undefined ? {} : progressOf(tried.judgement, this.#around.host.nowMs())),
    };
  }

  /** At the present share, or the last one. */
  get #arms(): Arms | undefined {
    return this.#tried === undefined ? this.#lastArms : armsOf(this.#tried.trial);
  }

  /** Of a run that is tried. */
  progress(): Progress | undefined {
    return this.#tried?.judgement.progress(this.#around.host.nowMs());
  }

  /** The server is closed. */
  async close(): Promise<void> {
    await this.#beside?.next.files.close();
    this.#beside = undefined;
    this.#tried = undefined;
  }

  /** @throws BundleError, RuntimeError, or what starting workers throws; nothing is left open. */
  async #opened(): Promise<Beside> {
    const loaded = await this.#around.host.load(this.policy);
    this.#application = loaded.bundle.application;
    this.#sha256 = loaded.sha256;
    return openBeside(loaded, this.#around, (message, severity) => {
      const isOwn = this.#state === "promoted";
      this.#around.host.onNotice(isOwn ? message : `canary: ${message}`, severity);
    });
  }

  /** Counts and judges from now on, at the share of this step. */
  #begin(): void {
    const { host, timeMs, tolerance } = this.#around;
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
        if (refused !== null) this.#tell(`${this.policy} is not promoted: ${refused}`, "warn");
      });
      return;
    }
    this.#step++;
    this.#begin();
    this.#tell(`${this.policy} is tried with ${this.#shareText()} now: ${because}`, "info");
  }

  /** What is served may have been read again since the gate was asked. @returns as `promote`. */
  async #take(because: string): Promise<string | null> {
    const { gate, host } = this.#around;
    const beside = this.#beside;
    const stable = host.hosted()[beside?.place ?? -1];
    if (beside === undefined || stable === undefined) return this.#notTried();
    const worse = await worsePromises(gate, stable.bundle, beside.next.bundle);
    return worse === null ? this.promote(because) : this.rollBack(`the gate refuses it: ${worse}`);
  }

  /** The bundle beside it was read again: what was counted says nothing of the new one. */
  #onOtherStable(stable: Application | undefined, next: Hosted): void {
    const difference =
      stable === undefined ? "nothing" : clientDifference(stable, next.application);
    if (difference !== null) void this.rollBack(`what is served is another now: ${difference}`);
    else if (stable?.endpoint.bundleSha256 === next.sha256) {
      void this.rollBack("what is served is the same bundle now");
    } else {
      this.#begin();
      this.#tell(`${this.policy}: what is served is another now; its trial begins anew`, "info");
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
    return `${this.policy} is not tried now: it is ${this.#isSettling ? "settling" : this.#state}`;
  }

  #shareText(): string {
    const share = this.#asked.shares[this.#step] ?? 0;
    return `${Number((100 * share).toPrecision(6))} % of the requests`;
  }

  #tell(message: string, severity: "info" | "warn" | "error"): void {
    const { host } = this.#around;
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

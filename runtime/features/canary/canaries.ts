/** All canaries of a server, and the actions that administrators can take. */

import { head, line, type MetricLine } from "../../base/exposition.ts";
import type { Host } from "../server-feature.ts";
import type { CanaryAction, CanaryDone, CanaryReport } from "./canary-report.ts";
import { type AskedCanary, type CanaryContext, type CanaryRules, CanaryRun } from "./canary-run.ts";

/** Interval of the checks. */
const LOOK_MS = 1000;

const BY_HAND = "an administrator decided so";

type CanariesContext = Omit<CanaryContext, "isTaken" | "isStopped">;

export class Canaries {
  readonly #asked: readonly AskedCanary[];
  readonly #context: CanariesContext;
  /** One run per requested canary, in their order. */
  readonly #runs: CanaryRun[] = [];
  readonly #ended = new Map<string, { promoted: number; "rolled back": number }>();
  readonly #counted = new WeakSet<CanaryRun>();
  #looks: NodeJS.Timeout | undefined;
  #opening: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(asked: readonly AskedCanary[], context: CanariesContext) {
    this.#asked = asked;
    this.#context = context;
  }

  /** Starts the canaries one after the other, once the served bundles are ready. */
  start(): void {
    if (this.#isStopped) return;
    this.#looks = setInterval(() => this.look(), LOOK_MS).unref();
    for (const index of this.#asked.keys()) void this.#open(index);
  }

  look(): void {
    for (const run of this.#runs) {
      run.look();
      this.#count(run);
    }
  }

  reports(): readonly CanaryReport[] {
    return this.#runs.map((run) => run.report());
  }

  /**
   * @param name application, or path of a bundle; omitted for the only canary.
   * @returns null if no canary or several match.
   */
  async act(action: CanaryAction, name?: string): Promise<CanaryDone | null> {
    const found = [...this.#runs.entries()].filter(([, { application, policy }]) => {
      return name === undefined || name === application || name === policy;
    });
    const [first] = found;
    if (first === undefined || found.length > 1) return null;
    const [index, run] = first;
    const refused = await this.#act(action, index, run);
    const notice = refused ?? `${run.policy}: ${action} succeeded`;
    return { isDone: refused === null, notice };
  }

  lines(): MetricLine[] {
    for (const run of this.#runs) this.#count(run);
    const evidence = "stratagem_canary_evidence";
    const ended = "stratagem_canaries_ended_total";
    const tried = this.#runs.flatMap((run) => {
      const progress = run.progress();
      return progress === undefined ? [] : [{ model: run.application, ...progress }];
    });
    return [
      ...(tried.length === 0
        ? []
        : [head(evidence, "gauge", "Evidence for and against a canary; 1 decides")]),
      ...tried.flatMap(({ model, evidenceFor, evidenceAgainst }) => [
        line(evidence, { model, side: "for" }, evidenceFor),
        line(evidence, { model, side: "against" }, evidenceAgainst),
      ]),
      ...(this.#ended.size === 0
        ? []
        : [head(ended, "counter", "Canaries that ended, by outcome")]),
      ...[...this.#ended].flatMap(([model, counts]) => [
        line(ended, { model, outcome: "promoted" }, counts.promoted),
        line(ended, { model, outcome: "rolled_back" }, counts["rolled back"]),
      ]),
    ];
  }

  /** Starts and judges no canary from now on. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#looks);
  }

  /** Closes the model files, after the server was closed. */
  async close(): Promise<void> {
    await this.#opening;
    await Promise.all(this.#runs.map((run) => run.close()));
  }

  async #act(action: CanaryAction, index: number, run: CanaryRun): Promise<string | null> {
    if (action === "promote") return run.promote(BY_HAND);
    if (action === "roll-back") return run.rollBack(BY_HAND);
    if (run.state === "tried" || run.state === "starting") {
      return `${run.policy} cannot be started: it is ${run.state}`;
    }
    await this.#open(index);
    const next = this.#runs[index];
    return next?.state === "tried" ? null : (next?.because ?? "the server is shutting down");
  }

  /** Opens a canary; never rejects. */
  #open(index: number): Promise<void> {
    const asked = this.#asked[index];
    if (asked === undefined) return Promise.resolve();
    const isTaken = (place: number) => this.#runs.some((run) => run.place === place);
    const isStopped = () => this.#isStopped;
    const run = new CanaryRun(asked, { ...this.#context, isTaken, isStopped });
    this.#runs[index] = run;
    const opened = this.#opening.then(async () => {
      if (!this.#isStopped) await run.open();
    });
    this.#opening = opened;
    return opened;
  }

  /** Counts a run once it has ended. */
  #count(run: CanaryRun): void {
    const { state, application, policy } = run;
    if (state === "tried" || state === "starting" || this.#counted.has(run)) return;
    this.#counted.add(run);
    // A bundle that could not be read has no application: its path is used.
    const name = application === "" ? policy : application;
    const counts = this.#ended.get(name) ?? { promoted: 0, "rolled back": 0 };
    counts[state]++;
    this.#ended.set(name, counts);
  }
}

/** Starts the canaries once the served bundles are ready. */
export function startCanaries(
  host: Host,
  asked: readonly AskedCanary[],
  rules: CanaryRules,
): Canaries {
  const canaries = new Canaries(asked, { ...rules, host });
  void host.server.started.then(() => canaries.start());
  return canaries;
}

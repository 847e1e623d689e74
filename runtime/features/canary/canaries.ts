/** The bundles that a server tries beside those that it serves, and what administrators may do. */

import { head, line, type MetricLine } from "../../base/exposition.ts";
import type { Host } from "../server-feature.ts";
import {
  type AskedCanary,
  type CanaryRules,
  CanaryRun,
  type CanarySurroundings,
} from "./canary-run.ts";
import type { CanaryAction, CanaryDone, CanaryReport } from "./told.ts";

/** Time between two looks. */
const LOOK_MS = 1000;

const BY_HAND = "an administrator says so";

type Around = Omit<CanarySurroundings, "isTaken" | "isStopped">;

export class Canaries {
  readonly #asked: readonly AskedCanary[];
  readonly #around: Around;
  /** By place among those that were asked for. */
  readonly #runs: CanaryRun[] = [];
  readonly #ended = new Map<string, { promoted: number; "rolled back": number }>();
  readonly #counted = new WeakSet<CanaryRun>();
  #looks: NodeJS.Timeout | undefined;
  #opening: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(asked: readonly AskedCanary[], around: Around) {
    this.#asked = asked;
    this.#around = around;
  }

  /** Starts them one after the other, once what is served is ready. */
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

  told(): readonly CanaryReport[] {
    return this.#runs.map((run) => run.told());
  }

  /**
   * @param name of an application, or path of a bundle; left out for the only one.
   * @returns null where there is no such canary, or several.
   */
  async act(action: CanaryAction, name?: string): Promise<CanaryDone | null> {
    const found = [...this.#runs.entries()].filter(([, { application, policy }]) => {
      return name === undefined || name === application || name === policy;
    });
    const [first] = found;
    if (first === undefined || found.length > 1) return null;
    const [index, run] = first;
    const refused = await this.#act(action, index, run);
    const notice = refused ?? `${run.policy}: ${action} is done`;
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
        : [head(evidence, "gauge", "Evidence for and against a bundle, 1 being enough")]),
      ...tried.flatMap(({ model, evidenceFor, evidenceAgainst }) => [
        line(evidence, { model, side: "for" }, evidenceFor),
        line(evidence, { model, side: "against" }, evidenceAgainst),
      ]),
      ...(this.#ended.size === 0
        ? []
        : [head(ended, "counter", "Bundles that were tried, by what became of them")]),
      ...[...this.#ended].flatMap(([model, counts]) => [
        line(ended, { model, outcome: "promoted" }, counts.promoted),
        line(ended, { model, outcome: "rolled_back" }, counts["rolled back"]),
      ]),
    ];
  }

  /** Nothing is begun or judged any more. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#looks);
  }

  /** Closes the files of models. The server is closed. */
  async close(): Promise<void> {
    await this.#opening;
    await Promise.all(this.#runs.map((run) => run.close()));
  }

  async #act(action: CanaryAction, index: number, run: CanaryRun): Promise<string | null> {
    if (action === "promote") return run.promote(BY_HAND);
    if (action === "roll-back") return run.rollBack(BY_HAND);
    if (run.state === "tried" || run.state === "starting") {
      return `${run.policy} is not started: it is ${run.state}`;
    }
    await this.#open(index);
    const next = this.#runs[index];
    return next?.state === "tried" ? null : (next?.because ?? "the server is shutting down");
  }

  /** Never rejects. */
  #open(index: number): Promise<void> {
    const asked = this.#asked[index];
    if (asked === undefined) return Promise.resolve();
    const isTaken = (place: number) => this.#runs.some((run) => run.place === place);
    const isStopped = () => this.#isStopped;
    const run = new CanaryRun(asked, { ...this.#around, isTaken, isStopped });
    this.#runs[index] = run;
    const opened = this.#opening.then(async () => {
      if (!this.#isStopped) await run.open();
    });
    this.#opening = opened;
    return opened;
  }

  /** Counts a run that has ended, once. */
  #count(run: CanaryRun): void {
    const { state, application, policy } = run;
    if (state === "tried" || state === "starting" || this.#counted.has(run)) return;
    this.#counted.add(run);
    // One that could not be read has no name but that of its file.
    const name = application === "" ? policy : application;
    const counts = this.#ended.get(name) ?? { promoted: 0, "rolled back": 0 };
    counts[state]++;
    this.#ended.set(name, counts);
  }
}

/** They start when what is served is ready. */
export function startCanaries(
  host: Host,
  asked: readonly AskedCanary[],
  rules: CanaryRules,
): Canaries {
  const canaries = new Canaries(asked, { ...rules, host });
  void host.server.started.then(() => canaries.start());
  return canaries;
}

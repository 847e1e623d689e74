/**
 * Compares a server's measurements with the promises of its bundle, and notifies of differences.
 */
import { head, type Labels, line, type MetricLine } from "../../base/exposition.ts";
import {
  PROMISE_WORDS,
  PROMISES,
  type PromiseName,
  type PromiseState,
  percentText,
} from "../../server/measures/facts.ts";
import { BLOCK_MS } from "../../server/measures/service-times.ts";
import type { PromisedNow, Reading, Watched } from "../../server/measures/watched.ts";
import { AccuracyWatch, type LabelledNow, type StatedAccuracy } from "./accuracy-watch.ts";
import { ArrivalBlocks, DispersionWatch, RateWatch } from "./arrival-watches.ts";
import { CostWatch } from "./cost-watch.ts";
import { AnswererWatch, ViolationWatch } from "./outcome-watches.ts";
import { ServiceTimeWatch } from "./service-time-watch.ts";
import type { Watch } from "./watch.ts";

/** Maximum number of blocks that one watch ends per hour. */
export const BLOCKS_PER_HOUR = 3_600_000 / BLOCK_MS;

export interface DriftOptions {
  readonly watched: Watched;
  /** Accuracies in the bundle. */
  readonly stated: readonly StatedAccuracy[];
  /** Answers with feedback. */
  readonly labelled: LabelledNow;
  /** Lower bound of the mean time between false alarms, over all promises of the application. */
  readonly hoursPerFalseAlarm: number;
  readonly nowMs: () => number;
  /** Added to `nowMs` for milliseconds since 1970. */
  readonly epochOffsetMs: () => number;
  readonly onNotice: (message: string, severity: "warn" | "info") => void;
}

export class Drift {
  readonly #options: DriftOptions;
  #watches: readonly Watch[];
  #bundleSha256: string;

  constructor(options: DriftOptions) {
    this.#options = options;
    const reading = options.watched.reading();
    this.#bundleSha256 = reading.bundleSha256;
    this.#watches = this.#watchesOf(reading);
  }

  /** Called about once a second. */
  look(): void {
    const { watched, nowMs: clock } = this.#options;
    const reading = watched.reading();
    const nowMs = clock();
    if (reading.bundleSha256 !== this.#bundleSha256) {
      // Another bundle makes other promises.
      this.#bundleSha256 = reading.bundleSha256;
      this.#watches = this.#watchesOf(reading);
    }
    for (const watch of this.#watches) {
      const change = watch.look(reading, nowMs);
      if (change === "broken") this.#notifyBroken(watch);
      else if (change === "holds") this.#notifyHolds(watch.promise);
    }
  }

  states(): PromiseState[] {
    return PROMISES.flatMap((promise) => {
      const watches = this.#watches.filter((watch) => watch.promise === promise);
      if (watches.length === 0) return [];
      const broken = watches
        .filter((watch) => watch.isBroken)
        .sort((one, other) => one.brokenSinceMs - other.brokenSinceMs);
      const adapted = broken.length === 0 ? "" : this.#adapted(promise);
      return {
        promise,
        holds: broken.length === 0,
        evidence: Math.max(...watches.map((watch) => watch.evidence)),
        because: broken.map((watch) => this.#because(watch)).join("; ") + adapted,
      };
    });
  }

  lines(): MetricLine[] {
    const states = this.states();
    const gauge = (name: string, help: string, of: (state: PromiseState) => number) => [
      head(name, "gauge", help),
      ...states.map((state) => line(name, { promise: state.promise } satisfies Labels, of(state))),
    ];
    return [
      ...gauge(
        "stratagem_promise_holds",
        "Whether the promise holds (1) or measurements break it (0)",
        ({ holds }) => (holds ? 1 : 0),
      ),
      ...gauge(
        "stratagem_promise_evidence",
        "Evidence against the promise, on a logarithmic scale; 1 breaks it",
        ({ evidence }) => evidence,
      ),
    ];
  }

  #watchesOf({ promised, cost }: Reading): Watch[] {
    const { watched, stated, labelled, hoursPerFalseAlarm } = this.#options;
    const { times, arrivals } = watched;
    const count = times.variants.length + stated.length + 5;
    // Divides the false alarms equally among the watches.
    const threshold = hoursPerFalseAlarm * BLOCKS_PER_HOUR * count;
    const blocks = new ArrivalBlocks(arrivals);
    const hasMix = promised?.accuracyPerSatisfied !== undefined;
    return [
      ...times.variants.map((_, variant) => new ServiceTimeWatch(times, variant, threshold)),
      new RateWatch(blocks, threshold),
      new DispersionWatch(blocks, threshold),
      new ViolationWatch(threshold),
      ...stated.map((one) => new AccuracyWatch(one, labelled, threshold)),
      ...(hasMix ? [new AnswererWatch(threshold)] : []),
      ...(cost === undefined ? [] : [new CostWatch(threshold)]),
    ];
  }

  #notifyBroken(watch: Watch): void {
    const { hoursPerFalseAlarm, onNotice } = this.#options;
    const what = `promise broken: ${PROMISE_WORDS[watch.promise]}: ${this.#because(watch)}`;
    const alarms = `; at most one false alarm in ${hoursPerFalseAlarm} h`;
    onNotice(`${what}${alarms}${this.#adapted(watch.promise)}`, "warn");
  }

  #notifyHolds(promise: PromiseName): void {
    const more = this.#watches.filter((watch) => watch.promise === promise && watch.isBroken);
    const rest = more.length === 0 ? "" : `; still broken: ${this.#becauseOf(more)}`;
    this.#options.onNotice(`promise holds again: ${PROMISE_WORDS[promise]}${rest}`, "info");
  }

  #becauseOf(watches: readonly Watch[]): string {
    return watches.map((watch) => this.#because(watch)).join("; ");
  }

  #because(watch: Watch): string {
    const since = new Date(this.#epochMs(watch.brokenSinceMs));
    return watch.because(`since ${since.toISOString().slice(11, 19)} UTC`);
  }

  /** A policy that adapts to slow service times still keeps its other promises. */
  #adapted(promise: PromiseName): string {
    if (promise !== "service_time") return "";
    const { pace, promised } = this.#options.watched.reading();
    return pace === 1 ? "" : `; ${adaptedText(pace, promised)}`;
  }

  #epochMs(ms: number): number {
    return ms + this.#options.epochOffsetMs();
  }
}

function adaptedText(pace: number, promised: PromisedNow | undefined): string {
  const { violationRate, accuracyPerSatisfied } = promised ?? {};
  const adapted = `the policy has adapted to pace ${Number(pace.toFixed(2))}`;
  if (violationRate === undefined) return adapted;
  const late = `at most ${percentText(violationRate)} late or dropped`;
  if (accuracyPerSatisfied === undefined) return `${adapted} and promises ${late}`;
  return `${adapted} and promises ${late}, at an accuracy of ${percentText(accuracyPerSatisfied)}`;
}

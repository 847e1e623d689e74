/** Compares what a server measures with what its bundle promises, and tells when they part. */

import { head, type Labels, line, type MetricLine } from "../../base/exposition.ts";
import {
  PROMISE_WORDS,
  PROMISES,
  type PromiseName,
  type PromiseState,
  percentText,
} from "../../server/measures/facts.ts";
import { BLOCK_MS } from "../../server/measures/variant-block.ts";
import type { PromisedNow, Reading, Watched } from "../../server/measures/watched.ts";
import { AccuracyWatch, type LabelledNow, type StatedAccuracy } from "./accuracy-watch.ts";
import { ArrivalBlocks, DispersionWatch, RateWatch } from "./arrival-watches.ts";
import { CostWatch } from "./cost-watch.ts";
import { AnswererWatch, ViolationWatch } from "./outcome-watches.ts";
import { ServiceTimeWatch } from "./service-time-watch.ts";
import type { Watch } from "./watch.ts";

/** Blocks that end in an hour, of one watch, at most. */
export const BLOCKS_PER_HOUR = 3_600_000 / BLOCK_MS;

export interface DriftOptions {
  readonly watched: Watched;
  /** Of the bundle. */
  readonly stated: readonly StatedAccuracy[];
  /** Truth that was fed back. */
  readonly labelled: LabelledNow;
  /** Mean time between false alarms, of all promises of the application together, at least. */
  readonly hoursPerFalseAlarm: number;
  readonly nowMs: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970. */
  readonly epochOffsetMs: number;
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

  /** About once a second. */
  look(): void {
    const { watched, nowMs: clock } = this.#options;
    const reading = watched.reading();
    const nowMs = clock();
    if (reading.bundleSha256 !== this.#bundleSha256) {
      // What another bundle promises is another promise.
      this.#bundleSha256 = reading.bundleSha256;
      this.#watches = this.#watchesOf(reading);
    }
    for (const watch of this.#watches) {
      const change = watch.look(reading, nowMs);
      if (change === "broken") this.#tellBroken(watch);
      else if (change === "holds") this.#tellHolds(watch.promise);
    }
  }

  states(): PromiseState[] {
    return PROMISES.flatMap((promise) => {
      const watches = this.#watches.filter((watch) => watch.promise === promise);
      if (watches.length === 0) return [];
      const broken = watches
        .filter((watch) => watch.isBroken)
        .sort((one, other) => one.brokenSinceMs - other.brokenSinceMs);
      const [first] = broken;
      const adapted = first === undefined ? "" : this.#adapted(promise);
      return {
        promise,
        holds: first === undefined,
        brokenSinceMs: first === undefined ? null : this.#epochMs(first.brokenSinceMs),
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
      ...gauge("stratagem_promise_holds", "1 unless what is measured breaks it", (state) => {
        return state.holds ? 1 : 0;
      }),
      ...gauge(
        "stratagem_promise_evidence",
        "Evidence against it, on a logarithmic scale of 0 to 1, which breaks it",
        ({ evidence }) => evidence,
      ),
    ];
  }

  #watchesOf({ promised, cost }: Reading): Watch[] {
    const { watched, stated, labelled, hoursPerFalseAlarm } = this.#options;
    const { times, arrivals } = watched;
    const count = times.variants.length + stated.length + 5;
    // Each has its share of the false alarms.
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

  #tellBroken(watch: Watch): void {
    const { hoursPerFalseAlarm, onNotice } = this.#options;
    const what = `promise broken: ${PROMISE_WORDS[watch.promise]}: ${this.#because(watch)}`;
    const seldom = `; false alarms at most one in ${hoursPerFalseAlarm} h`;
    onNotice(`${what}${seldom}${this.#adapted(watch.promise)}`, "warn");
  }

  #tellHolds(promise: PromiseName): void {
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

  /** Slow service times do not break what follows from them where the policy reckons with them. */
  #adapted(promise: PromiseName): string {
    if (promise !== "service_time") return "";
    const { pace, promised } = this.#options.watched.reading();
    return pace === 1 ? "" : `; ${adaptedText(pace, promised)}`;
  }

  #epochMs(ms: number): number {
    return ms + this.#options.epochOffsetMs;
  }
}

function adaptedText(pace: number, promised: PromisedNow | undefined): string {
  const { violationRate, accuracyPerSatisfied } = promised ?? {};
  const adapted = `the policy has adapted to pace ${Number(pace.toFixed(2))}`;
  if (violationRate === undefined) return adapted;
  const late = `${percentText(violationRate)} late or dropped at most`;
  if (accuracyPerSatisfied === undefined) return `${adapted} and promises ${late}`;
  return `${adapted} and promises ${late}, at an accuracy of ${percentText(accuracyPerSatisfied)}`;
}

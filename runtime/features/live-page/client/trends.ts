/** Measures at each second of the last five minutes, each over the preceding ten seconds. */
import { type History, KEPT_MS } from "./history.ts";
import { decidingLevel, type Measures, measuresOf } from "./measures.ts";

/** Averaging window, ms: a single second has too few rows. */
export const NOW_MS = 10_000;

export interface Moment {
  readonly atMs: number;
  readonly loadQps: number | null;
  /** Load of the level whose promise applies. */
  readonly levelQps: number | null;
  readonly promisedAccuracy: number | null;
  readonly promisedViolationRate: number | null;
  readonly promisedP99Ms: number | null;
  readonly pending: number | null;
  readonly readyWorkers: number | null;
  readonly busyPlaces: number | null;
  readonly measures: Measures;
}

/** Keeps the computed measures of earlier snapshots. */
export class Trends {
  #moments: Moment[] = [];

  /** @param history with at most one snapshot more than at the last call. */
  update(history: History): readonly Moment[] {
    const { snapshots } = history;
    const first = snapshots[0];
    const last = snapshots.at(-1);
    const known = this.#moments.at(-1);
    if (first === undefined || last === undefined || known?.atMs === last.atMs)
      return this.#moments;
    // After a restart of the server the old measures are dropped.
    const isNew = known !== undefined && known.atMs < first.atMs;
    const kept = isNew ? [] : this.#moments.filter(({ atMs }) => atMs >= last.atMs - KEPT_MS);
    const { application, atMs } = last;
    const level = decidingLevel(application);
    const before = history.before(snapshots.length - 1, NOW_MS);
    const moment: Moment = {
      atMs,
      loadQps: application.loadQps,
      levelQps: level?.loadQps ?? null,
      promisedAccuracy: application.promised.accuracy,
      promisedViolationRate: application.promised.violationRate,
      promisedP99Ms: level?.p99Ms ?? null,
      pending: application.pending,
      readyWorkers: application.workers.ready,
      busyPlaces: application.places?.busy ?? null,
      measures: measuresOf(application, before?.application),
    };
    this.#moments = [...kept, moment];
    return this.#moments;
  }
}

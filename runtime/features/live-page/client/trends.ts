/** What each second of the last five minutes has measured, over the ten seconds before it. */
import { type History, KEPT_MS } from "./history.ts";
import { decidingLevel, type Measures, measuresOf } from "./measures.ts";

/** "Now" is so long, ms: a second alone has too few rows. */
export const NOW_MS = 10_000;

export interface Moment {
  readonly atMs: number;
  readonly loadQps: number | null;
  /** Load of the level whose promise holds. */
  readonly levelQps: number | null;
  readonly promisedAccuracy: number | null;
  readonly promisedViolationRate: number | null;
  readonly promisedP99Ms: number | null;
  readonly pending: number | null;
  readonly readyWorkers: number | null;
  readonly busyPlaces: number | null;
  readonly measures: Measures;
}

/** Keeps what was worked out for snapshots that are gone by but still shown. */
export class Trends {
  #moments: Moment[] = [];

  /** @param history with a snapshot that was just added, or none. */
  update(history: History): readonly Moment[] {
    const { snapshots } = history;
    const first = snapshots[0];
    const last = snapshots.at(-1);
    const known = this.#moments.at(-1);
    if (first === undefined || last === undefined || known?.atMs === last.atMs)
      return this.#moments;
    // Of a server that was started anew nothing is left.
    const isNew = known !== undefined && known.atMs < first.atMs;
    const kept = isNew ? [] : this.#moments.filter(({ atMs }) => atMs >= last.atMs - KEPT_MS);
    const { application, atMs } = last;
    const level = decidingLevel(application);
    const before = history.before(snapshots.length - 1, NOW_MS);
    const moment: Moment = {
      atMs,
      loadQps: application.loadQps,
      levelQps: level?.loadQps ?? null,
      promisedAccuracy: level?.accuracy ?? null,
      promisedViolationRate: level?.violationRate ?? null,
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

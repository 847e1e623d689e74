/** Snapshots of an application over the last five minutes, one per second, kept in the browser. */
import type { LiveApplication } from "../live.ts";

export const KEPT_MS = 300_000;
/** Limit of the snapshots, whatever the clock does. */
const MAX_SNAPSHOTS = 320;

export interface Snapshot {
  readonly atMs: number;
  readonly application: LiveApplication;
}

export class History {
  #snapshots: Snapshot[] = [];

  get snapshots(): readonly Snapshot[] {
    return this.#snapshots;
  }

  /** Adds a snapshot, unless it is no later than the last one. */
  add(snapshot: Snapshot): void {
    const last = this.#snapshots.at(-1);
    if (last !== undefined && isOfAnotherStart(last, snapshot)) this.#snapshots = [];
    else if (last !== undefined && snapshot.atMs <= last.atMs) return;
    this.#snapshots.push(snapshot);
    const fromMs = snapshot.atMs - KEPT_MS;
    this.#snapshots = this.#snapshots.filter(({ atMs }) => atMs >= fromMs).slice(-MAX_SNAPSHOTS);
  }

  /** Returns the latest snapshot at least this old relative to another, or else the oldest. */
  before(index: number, ageMs: number): Snapshot | undefined {
    const atMs = (this.#snapshots[index]?.atMs ?? 0) - ageMs;
    const early = this.#snapshots.slice(0, index + 1).findLast((one) => one.atMs <= atMs);
    return early ?? this.#snapshots[0];
  }
}

/** Detects a restart by counters that fell, each by itself: differences are never negative. */
function isOfAnotherStart(before: Snapshot, after: Snapshot): boolean {
  const [old, own] = [before, after].map(({ application: { rows, requests } }) => [
    ...[rows.satisfied, rows.late, rows.dropped, requests.answered, requests.failed],
  ]);
  const isOther = before.application.variants.length !== after.application.variants.length;
  return isOther || old?.some((count, index) => (own?.[index] ?? 0) < count) === true;
}

/** The last five minutes of an application, one snapshot a second, kept in the browser alone. */
import type { LiveApplication } from "../live.ts";

export const KEPT_MS = 300_000;
/** More snapshots than that are never kept, whatever the clock does. */
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

  /** One that is no later than the last is the last again. */
  add(snapshot: Snapshot): void {
    const last = this.#snapshots.at(-1);
    if (last !== undefined && isOfAnotherStart(last, snapshot)) this.#snapshots = [];
    else if (last !== undefined && snapshot.atMs <= last.atMs) return;
    this.#snapshots.push(snapshot);
    const fromMs = snapshot.atMs - KEPT_MS;
    this.#snapshots = this.#snapshots.filter(({ atMs }) => atMs >= fromMs).slice(-MAX_SNAPSHOTS);
  }

  /** The latest that is as old as this before the snapshot, or the oldest. */
  before(index: number, ageMs: number): Snapshot | undefined {
    const atMs = (this.#snapshots[index]?.atMs ?? 0) - ageMs;
    const early = this.#snapshots.slice(0, index + 1).findLast((one) => one.atMs <= atMs);
    return early ?? this.#snapshots[0];
  }
}

/** Counters never fall while a server runs. */
function isOfAnotherStart(before: Snapshot, after: Snapshot): boolean {
  const total = ({ application: { rows, requests } }: Snapshot) =>
    rows.satisfied + rows.late + rows.dropped + requests.answered + requests.failed;
  const isOther = before.application.variants.length !== after.application.variants.length;
  return isOther || total(after) < total(before);
}

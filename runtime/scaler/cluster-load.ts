/** The load that the front ends of a cluster tell of themselves, in the store they meet in. */

import type { MeasuredLoad } from "../core/load-monitor.ts";
import { type TrafficCounts, trafficGrowth } from "../describe/traffic-counts.ts";
import { FRONT_ENDS, nameOfKey, trafficOfBeat } from "../features/cluster/shares/share-texts.ts";
import type { ClusterStore, StoreChange } from "../features/cluster/store.ts";
import type { LoadSource } from "./load-source.ts";
import { ObservedLoad, sharedPace, summedLoad } from "./observed-load.ts";

/** Where none was heard for so long, nothing is known. */
const SILENT_MS = 5000;
/** One that was silent for so long, while others were heard, is dead: its clients are theirs. */
const DEAD_MS = 3000;
/** Between two beats of which none was lost there is less. */
const MOST_GAP_MS = 1000;

interface ClusterLoadOptions {
  readonly store: ClusterStore;
  readonly application: string;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
}

interface FrontEnd {
  counts: TrafficCounts;
  revision: number;
  /** Time in which anybody was heard, when it was heard last. */
  hearingMs: number;
  readonly load: ObservedLoad;
}

/**
 * Front ends count since their starts, so a beat that is missed loses nothing. How old a beat is is
 * judged by our own clock, from when it was seen to come.
 */
export class ClusterLoad implements LoadSource {
  readonly #options: ClusterLoadOptions;
  readonly #byName = new Map<string, FrontEnd>();
  readonly #end: () => void;
  #heardMs = Number.NEGATIVE_INFINITY;
  /** Time in which front ends were heard: what the store was away for is no part of it. */
  #hearingMs = 0;
  #othersSay = false;

  constructor(options: ClusterLoadOptions) {
    this.#options = options;
    this.#end = options.store.watch(FRONT_ENDS, { onChange: (change) => this.#onChange(change) });
  }

  load(): MeasuredLoad {
    return summedLoad([...this.#byName.values()].map(({ load }) => load.measured()));
  }

  pace(): number {
    return sharedPace([...this.#byName.values()].map(({ load }) => load));
  }

  whyUnknown(nowMs: number): string | null {
    if (nowMs - this.#heardMs > SILENT_MS) return this.#whySilent();
    if (!this.load().isKnown) return "it has been heard for less than 10 s";
    return null;
  }

  /** Those that are dead are forgotten; the rest is told by the store. */
  look(): Promise<void> {
    for (const [name, { hearingMs }] of this.#byName) {
      if (this.#hearingMs - hearingMs >= DEAD_MS) this.#byName.delete(name);
    }
    return Promise.resolve();
  }

  close(): void {
    this.#end();
  }

  #onChange({ key, value, revision }: StoreChange): void {
    const name = nameOfKey(key);
    if (value === null) {
      this.#byName.delete(name);
      return;
    }
    const counts = trafficOfBeat(value, this.#options.application);
    if (counts === null) this.#othersSay = true;
    else this.#hear(name, counts, revision);
  }

  /** What is told again, after a time away, is no news. */
  #hear(name: string, counts: TrafficCounts, revision: number): void {
    const nowMs = this.#options.nowMs();
    const known = this.#byName.get(name);
    if (known !== undefined && revision <= known.revision) return;
    if (known === undefined) {
      const load = new ObservedLoad();
      load.record(null, nowMs);
      this.#byName.set(name, { counts, revision, hearingMs: this.#hearingMs, load });
      return;
    }
    this.#hearingMs += Math.max(0, Math.min(MOST_GAP_MS, nowMs - this.#heardMs));
    known.hearingMs = this.#hearingMs;
    known.load.record(trafficGrowth(known.counts, counts), nowMs);
    known.load.pace = counts.pace ?? 1;
    known.counts = counts;
    known.revision = revision;
    this.#heardMs = nowMs;
  }

  #whySilent(): string {
    if (this.#byName.size > 0) return "no front end of the cluster is heard";
    const { application } = this.#options;
    const none = `no front end of the cluster tells of "${application}"`;
    return this.#othersSay ? none : "no front end of the cluster has been heard yet";
  }
}

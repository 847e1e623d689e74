/** Load of a cluster, read from the beats of its front ends in the store. */

import type { MeasuredLoad } from "../core/load-monitor.ts";
import { type TrafficCounts, trafficGrowth } from "../describe/traffic-counts.ts";
import { FRONT_ENDS, nameOfKey, trafficOfBeat } from "../features/cluster/shares/share-texts.ts";
import type { ClusterStore, StoreChange } from "../features/cluster/store.ts";
import type { LoadSource } from "./load-source.ts";
import { ObservedLoad, sharedPace, summedLoad } from "./observed-load.ts";

/** Silence of all front ends after which the load is unknown. */
const SILENT_MS = 5000;
/**
 * Silence of one front end, while others are heard, after which it is considered dead and its
 * clients moved to the others.
 */
const DEAD_MS = 3000;
/** Upper bound of the interval between two consecutive beats. */
const MOST_GAP_MS = 1000;

interface ClusterLoadOptions {
  readonly store: ClusterStore;
  readonly application: string;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
}

interface FrontEnd {
  counts: TrafficCounts;
  revision: number;
  /** Value of the cluster's `hearingMs` when it was last heard. */
  hearingMs: number;
  readonly load: ObservedLoad;
}

/**
 * Front ends count from their start, so a missed beat loses nothing. The age of a beat is measured
 * on the local clock from its arrival.
 */
export class ClusterLoad implements LoadSource {
  readonly #options: ClusterLoadOptions;
  readonly #byName = new Map<string, FrontEnd>();
  readonly #end: () => void;
  #heardMs = Number.NEGATIVE_INFINITY;
  /** Total time in which front ends were heard, excluding outages of the store. */
  #hearingMs = 0;
  #otherApplications = false;

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
    if (!this.load().isKnown) return "the front ends have been observed for less than 10 s";
    return null;
  }

  /** Forgets dead front ends; the store delivers everything else. */
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
    if (counts === null) this.#otherApplications = true;
    else this.#hear(name, counts, revision);
  }

  /** Ignores beats that are reported again after an interruption. */
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
    if (this.#byName.size > 0) return "no front end of the cluster sends beats";
    const { application } = this.#options;
    const none = `no front end of the cluster serves "${application}"`;
    return this.#otherApplications ? none : "no beat of a front end has been received yet";
  }
}

/** Load derived from counters: over a longer window for the level, over a short one for bursts. */
import type { LoadWindow, MeasuredLoad } from "../core/load-monitor.ts";
import type { TrafficGrowth } from "../describe/traffic-counts.ts";

/** Much longer than in a server, because replicas take seconds or minutes to start. */
const WINDOW_MS = 30_000;
const NEWEST_MS = 5000;
/** Minimum length of a record for the load to count as known. */
const LEAST_MS = 10_000;
/** Limit of the recorded intervals: one per 50 ms. */
const MOST_LOOKS = 600;

interface Look extends TrafficGrowth {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Load of one front end. Times must not go back. */
export class ObservedLoad {
  #looks: Look[] = [];
  #heardMs = Number.NaN;
  /** Pace of its workers in the last report. */
  pace = 1;

  /** Time of the last report; NaN before. */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** @param growth since the last report; null for the first, which starts the record. */
  record(growth: TrafficGrowth | null, nowMs: number): void {
    if (growth !== null && nowMs > this.#heardMs) {
      this.#looks.push({ ...growth, fromMs: this.#heardMs, toMs: nowMs });
      const oldestMs = nowMs - WINDOW_MS;
      const kept = this.#looks.filter(({ toMs }) => toMs > oldestMs);
      this.#looks = kept.slice(-MOST_LOOKS);
    }
    this.#heardMs = nowMs;
  }

  /** Load up to the last report. */
  measured(): MeasuredLoad {
    const window = windowOf(this.#looks);
    const newest = windowOf(this.#looks.filter(({ toMs }) => toMs > this.#heardMs - NEWEST_MS));
    return { isKnown: window.ms >= LEAST_MS, window, newest };
  }
}

/** Mean pace of the workers of several front ends, weighted by load. */
export function sharedPace(loads: readonly ObservedLoad[]): number {
  const loadsQps = loads.map((load) => loadQpsOf(load.measured().window));
  const all = loadsQps.reduce((total, qps) => total + qps, 0);
  if (all === 0) return 1;
  return loads.reduce((sum, { pace }, index) => sum + (pace * (loadsQps[index] ?? 0)) / all, 0);
}

/** Total load: rates are added, even if the records differ in length. */
export function summedLoad(loads: readonly MeasuredLoad[]): MeasuredLoad {
  return {
    isKnown: loads.length > 0 && loads.every(({ isKnown }) => isKnown),
    window: summedWindow(loads.map(({ window }) => window)),
    newest: summedWindow(loads.map(({ newest }) => newest)),
  };
}

/** The mean number of rows per request is the size of a clump. */
function windowOf(looks: readonly Look[]): LoadWindow {
  const queries = looks.reduce((total, { rows }) => total + rows, 0);
  const requests = looks.reduce((total, one) => total + one.requests, 0);
  const ms = looks.reduce((total, { fromMs, toMs }) => total + toMs - fromMs, 0);
  return { queries, ms, clump: requests > 0 ? Math.max(1, queries / requests) : 1 };
}

function summedWindow(windows: readonly LoadWindow[]): LoadWindow {
  const ms = Math.max(0, ...windows.map((window) => window.ms));
  const counted = windows.filter((window) => window.ms > 0);
  const scaled = counted.map((window) => ({
    ...window,
    queries: (window.queries * ms) / window.ms,
  }));
  const queries = scaled.reduce((total, window) => total + window.queries, 0);
  const clumps = scaled.reduce((total, window) => total + window.queries * window.clump, 0);
  return { queries, ms, clump: queries > 0 ? clumps / queries : 1 };
}

/** Rows per second. */
export function loadQpsOf({ queries, ms }: LoadWindow): number {
  return ms > 0 ? (queries * 1000) / ms : 0;
}

/** The load that counters show: over a while for the level, over its newest part for bursts. */
import type { LoadWindow, MeasuredLoad } from "../core/load-monitor.ts";
import type { TrafficGrowth } from "../describe/traffic-counts.ts";

/** Whatever is asked for comes seconds or minutes later, so half a second says nothing here. */
const WINDOW_MS = 30_000;
const NEWEST_MS = 5000;
/** A shorter record is not taken at its word. */
const LEAST_MS = 10_000;
/** Looks that are kept: one in 50 ms is more often than anybody asks. */
const MOST_LOOKS = 600;

interface Look extends TrafficGrowth {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Of one front end. Times must not go back. */
export class ObservedLoad {
  #looks: Look[] = [];
  #heardMs = Number.NaN;
  /** Pace of its workers in its last report. */
  pace = 1;

  /** When it was heard of last; NaN before. */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** @param growth since the last look; null at the first, which begins the record. */
  record(growth: TrafficGrowth | null, nowMs: number): void {
    if (growth !== null && nowMs > this.#heardMs) {
      this.#looks.push({ ...growth, fromMs: this.#heardMs, toMs: nowMs });
      const oldestMs = nowMs - WINDOW_MS;
      const kept = this.#looks.filter(({ toMs }) => toMs > oldestMs);
      this.#looks = kept.slice(-MOST_LOOKS);
    }
    this.#heardMs = nowMs;
  }

  /** As it was when it was heard of last. */
  measured(): MeasuredLoad {
    const window = windowOf(this.#looks);
    const newest = windowOf(this.#looks.filter(({ toMs }) => toMs > this.#heardMs - NEWEST_MS));
    return { isKnown: window.ms >= LEAST_MS, window, newest };
  }
}

/** Pace of all workers of several front ends, weighted by load. */
export function sharedPace(loads: readonly ObservedLoad[]): number {
  const loadsQps = loads.map((load) => loadQpsOf(load.measured().window));
  const all = loadsQps.reduce((total, qps) => total + qps, 0);
  if (all === 0) return 1;
  return loads.reduce((sum, { pace }, index) => sum + (pace * (loadsQps[index] ?? 0)) / all, 0);
}

/** The load of all of them: rates add up, whatever the lengths of their records. */
export function summedLoad(loads: readonly MeasuredLoad[]): MeasuredLoad {
  return {
    isKnown: loads.length > 0 && loads.every(({ isKnown }) => isKnown),
    window: summedWindow(loads.map(({ window }) => window)),
    newest: summedWindow(loads.map(({ newest }) => newest)),
  };
}

/** Requests of several rows come in clumps of as many in the mean. */
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

/** Rows a second. */
export function loadQpsOf({ queries, ms }: LoadWindow): number {
  return ms > 0 ? (queries * 1000) / ms : 0;
}

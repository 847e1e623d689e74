/** Overhead of remote workers: the time of batches minus that of their runs. */
import { Histogram, head, type MetricLine } from "../base/exposition.ts";

/** Weight of the newest value in the moving average. */
const NEWEST = 0.05;
/** Number of batches before the average is reported. */
const ENOUGH = 20;
/** Factor above the planned latency from which a notice is given. */
const TOLERANCE = 1.1;
/** In seconds. */
const BOUNDS = [
  ...[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5],
];

interface WorkerHops {
  readonly histogram: Histogram;
  readonly pool: string;
  recentMs: number;
  count: number;
  isLong: boolean;
}

export class Hops {
  readonly #byName = new Map<string, WorkerHops>();
  readonly #plannedMs: number;
  readonly #onLong: (message: string) => void;

  /**
   * @param plannedMs `communicationLatency` of the plan. @param onLong called when the overhead of
   * a worker exceeds it, once until it is below again.
   */
  constructor(plannedMs: number, onLong: (message: string) => void) {
    this.#plannedMs = plannedMs;
    this.#onLong = onLong;
  }

  /**
   * @param hopMs overhead of a batch in both directions: from sending to the answer, minus the run.
   */
  note(name: string, pool: string, hopMs: number): void {
    const hops = this.#hopsOf(name, pool);
    hops.histogram.observe(hopMs / 1000);
    hops.count++;
    hops.recentMs = hops.count === 1 ? hopMs : hops.recentMs + NEWEST * (hopMs - hops.recentMs);
    if (hops.count < ENOUGH) return;
    const isLong = hops.recentMs > this.#plannedMs * TOLERANCE && hops.recentMs > LEAST_LONG_MS;
    if (isLong && !hops.isLong) this.#onLong(this.#longText(name, hops.recentMs));
    hops.isLong = isLong;
  }

  /** Moving average, ms; null if unknown. */
  recentMs(name: string): number | null {
    return this.#byName.get(name)?.recentMs ?? null;
  }

  /** Forgets a worker that was removed. */
  forget(name: string): void {
    this.#byName.delete(name);
  }

  metricLines(): MetricLine[] {
    if (this.#byName.size === 0) return [];
    const hops = "stratagem_worker_hop_seconds";
    const all = [...this.#byName];
    return [
      head(
        hops,
        "histogram",
        "Overhead of batches on a remote worker: their time minus that of their runs",
      ),
      ...all.flatMap(([worker, { pool, histogram }]) => histogram.lines(hops, { pool, worker })),
    ];
  }

  #hopsOf(name: string, pool: string): WorkerHops {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const histogram = new Histogram(BOUNDS);
    const hops = { histogram, pool, recentMs: 0, count: 0, isLong: false };
    this.#byName.set(name, hops);
    return hops;
  }

  #longText(name: string, ms: number): string {
    const found = `the overhead of the worker ${name} is ${ms.toFixed(1)} ms on average`;
    const planned = `${found}; the plan allows ${this.#plannedMs} ms`;
    if (this.#plannedMs > 0) return `${planned} (communicationLatency)`;
    return `${planned}, unless the profile was measured on remote workers (profile --workers)`;
  }
}

/** Threshold for plans without communication latency, about the overhead within a local network. */
const LEAST_LONG_MS = 1;

/** What the way to workers of other machines takes: beside what their runs take there. */
import { Histogram, head, type MetricLine } from "../base/exposition.ts";

/** Part that the newest hop has of the figure that follows the last ones. */
const NEWEST = 0.05;
/** Hops after which the figure is worth telling. */
const ENOUGH = 20;
/** Hops are told to be too long once they are by so much, and short again once they are not. */
const TOLERANCE = 1.1;
/** Seconds. */
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
   * @param plannedMs the `communicationLatency` of the plan. @param onLong told where the way to a
   * worker takes more than that, once until it is short again.
   */
  constructor(plannedMs: number, onLong: (message: string) => void) {
    this.#plannedMs = plannedMs;
    this.#onLong = onLong;
  }

  /** @param hopMs of a batch, both ways: from here until its answer, less its run. */
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

  /** Of late, ms; null where nothing is known. */
  recentMs(name: string): number | null {
    return this.#byName.get(name)?.recentMs ?? null;
  }

  /** It is a worker no more. */
  forget(name: string): void {
    this.#byName.delete(name);
  }

  metricLines(): MetricLine[] {
    if (this.#byName.size === 0) return [];
    const hops = "stratagem_worker_hop_seconds";
    const all = [...this.#byName];
    return [
      head(hops, "histogram", "Time of batches of a worker elsewhere, less that of their runs"),
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
    const found = `the way to the worker ${name} takes ${ms.toFixed(1)} ms of late`;
    const planned = `${found}, and the plan has ${this.#plannedMs} ms for a hop`;
    if (this.#plannedMs > 0) return `${planned} (communicationLatency)`;
    return `${planned}, unless its models were measured through the workers (profile --workers)`;
  }
}

/** A plan without communication latency has as much to spare for a machine next door. */
const LEAST_LONG_MS = 1;

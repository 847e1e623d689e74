/** Adds up the replicas of a simulation and what they cost over time. */
import {
  type InferlineBundle,
  MICROS,
  priceMicros,
} from "stratagem-runtime/internal/bundle/schema";
import { type MeanAndMax, TimeWeighted } from "../../../simulate/graph/time-weighted.ts";

export interface ReplicaSummary {
  /** Replicas that run or come up, over the duration. */
  readonly servers: MeanAndMax;
  /** What they cost, mean over the duration; a whole number of millionths. */
  readonly costPerHour: number;
  /** Replicas that were started and stopped. */
  readonly scaling: { readonly up: number; readonly down: number };
}

/**
 * Replicas that run or come up, and what they cost, as times pass until the end of the duration.
 */
export class ReplicaCosts {
  up = 0;
  down = 0;
  readonly #durationMs: number;
  readonly #microsByPool: Float64Array;
  readonly #all = new TimeWeighted();
  readonly #cost = new TimeWeighted();
  readonly #byTask: readonly TimeWeighted[];

  constructor({ tasks, cluster }: InferlineBundle, durationMs: number) {
    this.#durationMs = durationMs;
    this.#microsByPool = Float64Array.from(cluster.pools, priceMicros);
    this.#byTask = tasks.map(() => new TimeWeighted());
  }

  get servers(): number {
    return this.#all.value;
  }

  get costPerHour(): number {
    return this.#cost.value / MICROS;
  }

  /** A replica more or one less. @param change 1 or −1. */
  change(task: number, pool: number, change: number, nowMs: number): void {
    if (change > 0) this.up++;
    else this.down++;
    const untilMs = Math.min(nowMs, this.#durationMs);
    this.#all.add(change, untilMs);
    this.#cost.add(change * (this.#microsByPool[pool] ?? Number.NaN), untilMs);
    this.#byTask[task]?.add(change, untilMs);
  }

  /** The replicas that there are were there from the start. */
  startCounting(): void {
    this.up = 0;
    this.down = 0;
  }

  summary(): ReplicaSummary {
    const cost = this.#cost.over(this.#durationMs);
    return {
      servers: this.#all.over(this.#durationMs),
      costPerHour: Math.round(cost.mean) / MICROS,
      scaling: { up: this.up, down: this.down },
    };
  }

  ofTask(task: number): MeanAndMax {
    return this.#byTask[task]?.over(this.#durationMs) ?? { mean: Number.NaN, max: Number.NaN };
  }
}

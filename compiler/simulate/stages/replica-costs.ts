import { type InferlineBundle, MICROS, priceMicros } from "../../../runtime/bundle/schema.ts";

export interface MeanAndMax {
  readonly mean: number;
  readonly max: number;
}

export interface ReplicaSummary {
  /** Replicas that run or come up, over the duration. */
  readonly servers: MeanAndMax;
  /** What they cost, mean over the duration; a whole number of millionths. */
  readonly costPerHour: number;
  /** Replicas that were started and stopped. */
  readonly scaling: { readonly up: number; readonly down: number };
}

/** Replicas that run or come up, and what they cost, as times pass until the end of the duration. */
export class ReplicaCosts {
  up = 0;
  down = 0;
  readonly #durationMs: number;
  readonly #microsByPool: Float64Array;
  readonly #all = new Level();
  readonly #cost = new Level();
  readonly #byTask: readonly Level[];

  constructor({ tasks, cluster }: InferlineBundle, durationMs: number) {
    this.#durationMs = durationMs;
    this.#microsByPool = Float64Array.from(cluster.pools, priceMicros);
    this.#byTask = tasks.map(() => new Level());
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

/** A value that stays until it changes, from time 0. What it is for no time is no maximum. */
class Level {
  value = 0;
  #max = 0;
  #sum = 0;
  #sinceMs = 0;

  add(change: number, nowMs: number): void {
    this.#pass(nowMs);
    this.value += change;
  }

  over(durationMs: number): MeanAndMax {
    if (this.#sinceMs === 0) return { mean: this.value, max: this.value };
    this.#pass(durationMs);
    return { mean: this.#sum / durationMs, max: this.#max };
  }

  #pass(nowMs: number): void {
    if (nowMs <= this.#sinceMs) return;
    this.#sum += this.value * (nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
    if (this.value > this.#max) this.#max = this.value;
  }
}

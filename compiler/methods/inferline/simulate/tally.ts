/** Counts the outcomes of a simulation, by task and by second. */
import {
  type InferlineBundle,
  MICROS,
  priceMicros,
} from "stratagem-runtime/internal/bundle/schema";
import {
  BatchTally,
  type TaskBatches,
  type TaskVariantOutcome,
} from "../../../simulate/graph/batch-tally.ts";
import { type RequestOutcome, RequestTally } from "../../../simulate/graph/request-tally.ts";
import { type MeanAndMax, TimeWeighted } from "../../../simulate/graph/time-weighted.ts";
import { Timeline } from "../../../simulate/graph/timeline.ts";
import type { CountedFrom } from "../../../simulate/queue-times.ts";

/** Outcomes of the requests of one simulation, and the replicas that served them. */
export interface InferlineOutcome extends RequestOutcome, ReplicaSummary {
  /** Keyed by `task/variant`. */
  readonly byVariant: Readonly<Record<string, TaskVariantOutcome>>;
  readonly byTask: Readonly<Record<string, InferlineTaskOutcome>>;
  readonly planSwitches: number;
  readonly timeline: readonly InferlineTimelineSecond[] | null;
}

interface InferlineTaskOutcome extends TaskBatches {
  readonly replicas: MeanAndMax;
}

export interface InferlineTimelineSecond {
  /** Requests that arrived. */
  readonly requests: number;
  /** Late or dropped requests among them. */
  readonly violations: number;
  /** Running and starting replicas, at the end of the second. */
  readonly servers: number;
  readonly costPerHour: number;
  /** Index of the level at the end of the second. */
  readonly level: number;
}

/** Counts the outcomes of a simulation as they happen. */
export class InferlineTally {
  planSwitches = 0;
  readonly requests: RequestTally;
  readonly batches: BatchTally;
  readonly replicas: ReplicaCosts;
  readonly #bundle: InferlineBundle;
  readonly #timeline: Timeline | null;

  constructor(
    bundle: InferlineBundle,
    durationMs: number,
    hasTimeline: boolean,
    counted: CountedFrom,
  ) {
    this.#bundle = bundle;
    this.#timeline = hasTimeline ? new Timeline(Math.ceil(durationMs / 1000), 3) : null;
    this.requests = new RequestTally(this.#timeline, counted);
    this.batches = new BatchTally(bundle.tasks);
    this.replicas = new ReplicaCosts(bundle, durationMs);
  }

  /** Records the replicas and the level from now on. */
  observe(nowMs: number, level: number): void {
    const { servers, costPerHour } = this.replicas;
    this.#timeline?.observe(nowMs, [servers, costPerHour, level]);
  }

  outcome(): InferlineOutcome {
    const { byVariant, tasks } = this.batches.outcome();
    const byTask: Record<string, InferlineTaskOutcome> = {};
    for (const [task, { name }] of this.#bundle.tasks.entries()) {
      const served = tasks[task] ?? { queries: 0, batches: 0, meanBatch: null };
      byTask[name] = { ...served, replicas: this.replicas.ofTask(task) };
    }
    return {
      ...this.requests.outcome(tasks),
      byVariant,
      byTask,
      ...this.replicas.summary(),
      planSwitches: this.planSwitches,
      timeline: this.#seconds(),
    };
  }

  #seconds(): InferlineTimelineSecond[] | null {
    if (this.#timeline === null) return null;
    return this.#timeline.rows().map(({ requests, violations, held }) => {
      const [servers = 0, costPerHour = 0, level = 0] = held;
      return { requests, violations, servers, costPerHour, level };
    });
  }
}

interface ReplicaSummary {
  /** Running and starting replicas, over the duration. */
  readonly servers: MeanAndMax;
  /** Their cost, mean over the duration; an integer number of millionths. */
  readonly costPerHour: number;
  /** Replicas that were started and stopped. */
  readonly scaling: { readonly up: number; readonly down: number };
}

/** Running and starting replicas, and their cost, over time until the end of the duration. */
class ReplicaCosts {
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

  /**
   * Adds or removes a replica.
   * @param change 1 or −1.
   */
  change(task: number, pool: number, change: number, nowMs: number): void {
    if (change > 0) this.up++;
    else this.down++;
    const untilMs = Math.min(nowMs, this.#durationMs);
    this.#all.add(change, untilMs);
    this.#cost.add(change * (this.#microsByPool[pool] ?? Number.NaN), untilMs);
    this.#byTask[task]?.add(change, untilMs);
  }

  /** Excludes the initial replicas from the count of changes. */
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

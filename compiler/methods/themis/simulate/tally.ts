/** Counts the outcomes of a simulation, by task and by second. */
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import {
  BatchTally,
  type TaskBatches,
  type TaskVariantOutcome,
} from "../../../simulate/graph/batch-tally.ts";
import { type RequestOutcome, RequestTally } from "../../../simulate/graph/request-tally.ts";
import type { MeanAndMax } from "../../../simulate/graph/time-weighted.ts";
import { Timeline } from "../../../simulate/graph/timeline.ts";
import { LatencySample } from "../../../simulate/latency-sample.ts";
import type { CountedFrom } from "../../../simulate/queue-times.ts";
import { type CoreSummary, HeldCores } from "./held-cores.ts";

/** Outcomes of the requests of one simulation, and the resources that served them. */
export interface ThemisOutcome extends RequestOutcome, CoreSummary {
  /** Keyed by `task/variant`. */
  readonly byVariant: Readonly<Record<string, TaskVariantOutcome>>;
  readonly byTask: Readonly<Record<string, ThemisTaskOutcome>>;
  readonly scaling: ScalingCounts;
  /** Changes of the level whose load is carried. */
  readonly planSwitches: number;
  readonly timeline: readonly ThemisTimelineSecond[] | null;
}

interface ThemisTaskOutcome extends TaskBatches {
  readonly instances: MeanAndMax;
  /** Cores of all its instances. */
  readonly cores: MeanAndMax;
}

interface ScalingCounts {
  /** Instances that were started and stopped, and those that were resized while ready. */
  readonly up: number;
  readonly down: number;
  readonly resizes: number;
  /** Bursts that were answered with cores, and changes to the plan of a steady load. */
  readonly bursts: number;
  readonly settled: number;
}

interface ThemisTimelineSecond {
  readonly requests: number;
  /** Late or dropped requests among them. */
  readonly violations: number;
  /** Latency of the served ones; null if no request was served. */
  readonly latencyMsP99: number | null;
  /** Cores held, instances, and index of the carried level, at the end of the second. */
  readonly cores: number;
  readonly servers: number;
  readonly level: number;
}

/** Counts the outcomes of a simulation as they happen. */
export class ThemisTally {
  planSwitches = 0;
  readonly requests: RequestTally;
  readonly batches: BatchTally;
  readonly held: HeldCores;
  readonly #bundle: ThemisBundle;
  readonly #timeline: Timeline | null;

  constructor(
    bundle: ThemisBundle,
    poolByWorker: Uint32Array,
    {
      durationMs,
      hasTimeline,
      ...counted
    }: CountedFrom & { readonly durationMs: number; readonly hasTimeline: boolean },
  ) {
    this.#bundle = bundle;
    this.#timeline = hasTimeline ? new Timeline(Math.ceil(durationMs / 1000), 3) : null;
    this.requests = new RequestTally(this.#timeline, counted);
    this.batches = new BatchTally(bundle.tasks);
    const { tasks, cluster } = bundle;
    this.held = new HeldCores(cluster.pools, tasks.length, poolByWorker, { durationMs });
  }

  /** Records the instances and the carried level from now on. */
  observe(nowMs: number, level: number): void {
    this.#timeline?.observe(nowMs, [this.held.cores, this.held.servers, level]);
  }

  /**
   * @param latencyMs of the requests, in the order of `arrivalMs`, NaN for dropped ones; used only
   * by a timeline.
   */
  outcome(
    { bursts, settled }: Pick<ScalingCounts, "bursts" | "settled">,
    arrivalMs: Float64Array,
    latencyMs: Float64Array | null,
  ): ThemisOutcome {
    const { byVariant, tasks } = this.batches.outcome();
    const byTask: Record<string, ThemisTaskOutcome> = {};
    for (const [task, { name }] of this.#bundle.tasks.entries()) {
      const served = tasks[task] ?? { queries: 0, batches: 0, meanBatch: null };
      byTask[name] = { ...served, ...this.held.ofTask(task) };
    }
    const { up, down, resizes } = this.held;
    return {
      ...this.requests.outcome(tasks),
      byVariant,
      byTask,
      ...this.held.summary(),
      scaling: { up, down, resizes, bursts, settled },
      planSwitches: this.planSwitches,
      timeline: this.#seconds(arrivalMs, latencyMs),
    };
  }

  #seconds(arrivalMs: Float64Array, latencyMs: Float64Array | null): ThemisTimelineSecond[] | null {
    if (this.#timeline === null || latencyMs === null) return null;
    let next = 0;
    return this.#timeline.rows().map(({ requests, violations, held }, second) => {
      const sample = new LatencySample();
      for (; (arrivalMs[next] ?? Number.NaN) < 1000 * (second + 1); next++) {
        const ms = latencyMs[next] ?? Number.NaN;
        if (!Number.isNaN(ms)) sample.record(ms);
      }
      const latencyMsP99 = sample.summary()?.p99 ?? null;
      const [cores = 0, servers = 0, level = 0] = held;
      return { requests, violations, latencyMsP99, cores, servers, level };
    });
  }
}

/** Result of `truth`, printed by `--json` and kept in its folder. */

import type { PercentileIntervals } from "../numeric/quantile-interval.ts";

/** Comparison of an application's promises with measurements on this machine. */
export interface TruthDocument {
  readonly format: "truth/1";
  readonly application: string;
  readonly method: string;
  readonly machine: TruthMachine;
  readonly slo: {
    readonly latencyMs: number;
    /** Ratio of requests that may be late or lost. */
    readonly ceiling: number;
  };
  /** Components missing in the predictions for lack of measurements, such as "serving path". */
  readonly latenciesWithout: readonly string[];
  /** Service times of the prediction: sampled from the profile's quantiles, or its percentile. */
  readonly serviceTimes: "sampled" | "p95";
  readonly points: readonly TruthPoint[];
  /** Counts of points that came out as predicted, that came out better, and in total. */
  readonly held: number;
  readonly better: number;
  readonly of: number;
  /** True if no promise is broken. */
  readonly holds: boolean;
}

interface TruthMachine {
  readonly processors: number;
  /** Text such as "1.0 processors by quota (cpu.max)"; null without a quota. */
  readonly quota: string | null;
  readonly cpu: string;
  /** Share of the processors that other guests took during profiling; null if unknown. */
  readonly profileStealShare: number | null;
}

/** One load, sent once. */
export interface TruthPoint {
  readonly loadQps: number;
  /** Counted from 1 among the runs at this load. */
  readonly run: number;
  /** Seed of the arrivals, which are the same in the simulation. */
  readonly seed: number;
  readonly durationMs: number;
  readonly queries: number;
  /** Promise of the level at the pace of the run; null if it states none. */
  readonly promised: { readonly violationRate: number | null; readonly accuracy: number | null };
  /** Simulation of the same arrivals at the pace of the run. */
  readonly predicted: Outcome;
  /** The same without components; null if the method cannot leave them out. */
  readonly ablation: Ablation;
  readonly measured: MeasuredOutcome;
  readonly machine: MachineShares;
  /** Promises that the server called broken in the run, in its words. */
  readonly alarms: readonly string[];
  readonly checks: readonly Check[];
  /** True if every check holds. */
  readonly holds: boolean;
  readonly verdict: Verdict;
  /** Cause found in the seconds of the run; null if the point holds. */
  readonly cause: string | null;
  readonly timeline: readonly TimelineSecond[];
  /** Earlier runs of this point that were disturbed. */
  readonly earlier: readonly EarlierTry[];
}

/** Outcome of requests. Latencies are of the answered ones. */
export interface Outcome {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly violationRate: number;
  /** Mean accuracy over requests in time of the variants that answered. */
  readonly accuracy: number | null;
  /** Least and most accurate draw of a prediction. */
  readonly accuracyRange?: readonly [number, number];
  /** Percentiles 0 to 100 of the latency, 101 values; empty without answers. */
  readonly quantilesMs: readonly number[];
  /** Batches that the percentiles are from. */
  readonly batches: number;
  /** 99 % intervals of the percentiles, ms; left out with many batches. */
  readonly intervalsMs?: PercentileIntervals;
}

/** Latencies count from the time at which a request was sent. */
export interface MeasuredOutcome extends Outcome {
  /** Accuracy by labels with its 99 % interval; null without labels. */
  readonly accuracyByLabels: Interval | null;
  /** Delay between the scheduled and the actual time of sending. */
  readonly sendLagMs: { readonly p50: number; readonly p99: number } | null;
  /** Requests without an answer, by HTTP status or kind of failure. */
  readonly errors: Readonly<Record<string, number>>;
}

export interface Interval {
  readonly estimate: number;
  readonly lower: number;
  readonly upper: number;
  /** Number of labelled answers. */
  readonly asked: number;
}

/**
 * Shares of the time of all processors during the run, 0..1; null if the system does not report
 * them.
 */
export interface MachineShares {
  /** Used by other guests of the host. */
  readonly stealShare: number | null;
  /** Used by the load generator's process. */
  readonly generatorShare: number | null;
  /** Used by all processes here. */
  readonly busyShare: number | null;
  /** Used by the server's own process, as a share of one processor. */
  readonly serverShare: number | null;
  /** Used by other processes of this machine. */
  readonly neighbourShare: number | null;
  /** Periods in which the quota of the control group was used up; null without a quota. */
  readonly throttledShare: number | null;
  /** Service times relative to the profile, measured by the server; not a share. */
  readonly pace: number | null;
}

export interface Ablation {
  readonly withoutPath: BriefOutcome | null;
  readonly withoutContention: BriefOutcome | null;
  readonly withoutBoth: BriefOutcome | null;
  /**
   * Includes all components, and the stalls observed in this run instead of the profile's:
   * remaining deviations are not due to the host.
   */
  readonly asItWas: BriefOutcome | null;
}

export interface BriefOutcome {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly violationRate: number;
}

/**
 * `better`: outside the tolerance in the favourable direction. `slower`: a latency percentile is
 * above the tolerance, and all else holds. `broken`: late requests or accuracy are worse than
 * promised.
 */
export type Verdict = "holds" | "better" | "slower" | "broken";

export type CheckName = "p50" | "p99" | "violations" | "accuracy" | "labels";

/** One figure compared with its promise, in ms or as a ratio. */
export interface Check {
  readonly name: CheckName;
  readonly promised: number | null;
  readonly measured: number | null;
  /** Allowed difference, in the same unit. */
  readonly tolerance: number;
  readonly holds: boolean;
  /** True if the measurement is no worse than promised; otherwise the promise is broken. */
  readonly isKept: boolean;
}

/** One second of a run, by the requests that arrived in it. */
export interface TimelineSecond {
  readonly second: number;
  readonly arrived: number;
  /** Late or lost ones among the arrivals. */
  readonly late: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Means over answered requests in the server's access log. */
  readonly queueMs: number | null;
  readonly computeMs: number | null;
  readonly predictedLate: number;
  readonly predictedP50Ms: number | null;
  readonly predictedP99Ms: number | null;
  readonly stealShare: number | null;
  /** Used by the server's own process, as a share of one processor. */
  readonly serverShare: number | null;
}

export interface EarlierTry {
  readonly measured: MeasuredOutcome;
  readonly machine: MachineShares;
  readonly checks: readonly Check[];
  readonly holds: boolean;
  readonly cause: string | null;
}

/** What `truth` finds, as its `--json` prints it and its folder keeps it. */

/** An application whose promises were set beside what was measured on this machine. */
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
  /** What the predictions leave out for want of measurements, such as "serving path". */
  readonly latenciesWithout: readonly string[];
  /** How service times were predicted: drawn from the profile, or its percentile. */
  readonly serviceTimes: "sampled" | "p95";
  readonly points: readonly TruthPoint[];
  /** Points that came out as predicted, and those that came out better, of so many. */
  readonly held: number;
  readonly better: number;
  readonly of: number;
  /** Whether no promise is broken. */
  readonly holds: boolean;
}

interface TruthMachine {
  readonly processors: number;
  readonly cpu: string;
  /** What other guests took of the processors while the profile was made; null if unknown. */
  readonly profileStealShare: number | null;
}

/** One load, sent once. */
export interface TruthPoint {
  readonly loadQps: number;
  /** From 1, of those at this load. */
  readonly run: number;
  /** Of the arrivals, which are the same in the simulation. */
  readonly seed: number;
  readonly durationMs: number;
  readonly queries: number;
  /** Promise of the level at the pace of the run; null if it states none. */
  readonly promised: { readonly violationRate: number | null; readonly accuracy: number | null };
  /** Simulation of the same arrivals at the pace of the run. */
  readonly predicted: Outcome;
  /** The same, predicted without what is named; null where the method cannot leave it out. */
  readonly ablation: Ablation;
  readonly measured: MeasuredOutcome;
  readonly machine: MachineShares;
  readonly checks: readonly Check[];
  /** Whether every check holds. */
  readonly holds: boolean;
  readonly verdict: Verdict;
  /** Why it does not hold, found in the seconds of the run; null where it holds. */
  readonly cause: string | null;
  readonly timeline: readonly TimelineSecond[];
  /** Runs of this point that the machine disturbed, before the one that counts. */
  readonly earlier: readonly EarlierTry[];
}

/** What becomes of requests. Latencies are of those that were answered. */
export interface Outcome {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly violationRate: number;
  /** Mean over requests in time of the accuracy of what answered them. */
  readonly accuracy: number | null;
  /** Percentiles 0 to 100 of the latency, 101 of them; none without an answer. */
  readonly quantilesMs: readonly number[];
}

/** Latencies count from the moment at which a request was really sent. */
export interface MeasuredOutcome extends Outcome {
  /** By labels, with an interval that holds the true value 99 times in 100; null without. */
  readonly accuracyByLabels: Interval | null;
  /** How long after its scheduled moment a request was sent. */
  readonly sendLagMs: { readonly p50: number; readonly p99: number } | null;
  /** Requests without an answer, by HTTP status or by what went wrong. */
  readonly errors: Readonly<Record<string, number>>;
}

export interface Interval {
  readonly estimate: number;
  readonly lower: number;
  readonly upper: number;
  /** Requests that it is made of. */
  readonly asked: number;
}

/** Of the time of all processors during the run, 0..1; null where the system does not say. */
export interface MachineShares {
  /** That other guests of the host took. */
  readonly stealShare: number | null;
  /** That the load generator's process took. */
  readonly generatorShare: number | null;
  /** That anything here took. */
  readonly busyShare: number | null;
  /** Of one processor, that the server's own process took. */
  readonly serverShare: number | null;
  /** That other processes of this machine took, which are no part of the run. */
  readonly neighbourShare: number | null;
  /** And no share: service times over those of the profile, as the server measured them. */
  readonly pace: number | null;
}

export interface Ablation {
  readonly withoutPath: BriefOutcome | null;
  readonly withoutContention: BriefOutcome | null;
  readonly withoutBoth: BriefOutcome | null;
  /**
   * With nothing left out, but the stalls that were seen in this very run in place of the
   * profile's: what is far from measured here is not the host's doing.
   */
  readonly asItWas: BriefOutcome | null;
}

export interface BriefOutcome {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly violationRate: number;
}

/**
 * `better`: further from the prediction than allowed, on the right side. `slower`: a percentile of
 * the latency is higher than predicted, and all else holds. `broken`: late requests or accuracy are
 * worse than promised.
 */
export type Verdict = "holds" | "better" | "slower" | "broken";

export type CheckName = "p50" | "p99" | "violations" | "accuracy" | "labels";

/** One figure against its promise. Milliseconds, or ratios. */
export interface Check {
  readonly name: CheckName;
  readonly promised: number | null;
  readonly measured: number | null;
  /** How far apart they may be, in the unit of both. */
  readonly tolerance: number;
  readonly holds: boolean;
  /** Whether what is measured is no worse than promised: a promise is broken where it is. */
  readonly isKept: boolean;
}

/** One second of a run, by the arrivals that fell into it. */
export interface TimelineSecond {
  readonly second: number;
  readonly arrived: number;
  /** Of these, late or lost. */
  readonly late: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Means by the server's access log, of the requests that it answered. */
  readonly queueMs: number | null;
  readonly computeMs: number | null;
  readonly predictedLate: number;
  readonly predictedP50Ms: number | null;
  readonly predictedP99Ms: number | null;
  readonly stealShare: number | null;
  /** Of one processor, that the server's own process took. */
  readonly serverShare: number | null;
}

export interface EarlierTry {
  readonly measured: MeasuredOutcome;
  readonly machine: MachineShares;
  readonly checks: readonly Check[];
  readonly holds: boolean;
  readonly cause: string | null;
}

/** Simulates front ends that share workers, over several seeds. */

import { simulateCluster } from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import type { ArrivalProcess } from "stratagem/internal/simulate/arrivals";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { meanOf } from "../harness/numbers.ts";
import { seedsTo } from "../harness/seeds.ts";
import { type Knowledge, SplitCluster } from "./split-cluster.ts";

export interface SplitRun {
  /** Of the whole cluster. */
  readonly bundle: RamsisBundle;
  readonly shares: readonly { readonly bundle: RamsisBundle; readonly workers: number }[];
  readonly knows: Knowledge;
  /** Of each front end; left out, all get the same. */
  readonly requestShares?: readonly number[];
  readonly arrivals: ArrivalProcess;
  readonly durationMs: number;
  readonly seeds: number;
}

export interface SplitOutcome {
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
  /** Of one front end. */
  readonly levelChangesPerMinute: number;
}

/** The mean over the seeds, of which each draws the same arrivals whatever the shares. */
export function simulateSplit(run: SplitRun): SplitOutcome {
  const outcomes = seedsTo(run.seeds).map((seed) => simulateSeed(run, seed));
  return {
    accuracyPerQuery: meanOf(outcomes, ({ accuracyPerQuery }) => accuracyPerQuery),
    violationRate: meanOf(outcomes, ({ violationRate }) => violationRate),
    levelChangesPerMinute: meanOf(outcomes, ({ levelChangesPerMinute }) => levelChangesPerMinute),
  };
}

function simulateSeed(run: SplitRun, seed: number): SplitOutcome {
  const { bundle, shares, knows, arrivals, durationMs } = run;
  const each = shares.map(() => 1 / shares.length);
  const cluster = new SplitCluster({
    shares,
    knows,
    requestShares: run.requestShares ?? each,
    rng: new Rng(seed, 3),
  });
  const outcome = simulateCluster(bundle, cluster, {
    arrivals,
    durationMs,
    serviceTimes: "p95",
    arrivalRng: new Rng(seed, 1),
    serviceRng: new Rng(seed, 2),
  });
  const minutes = (shares.length * durationMs) / 60_000;
  return {
    accuracyPerQuery: outcome.accuracyPerQuery ?? 0,
    violationRate: outcome.violationRate,
    levelChangesPerMinute: cluster.levelChanges / minutes,
  };
}

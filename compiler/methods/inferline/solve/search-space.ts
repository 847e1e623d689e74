/** Inputs of a search: the problem, the estimator, and proven bounds. */

import type { FeedForward } from "../../../graph/feed-forward.ts";
import type { Configuration, TaskConfiguration } from "../../../graph/served-tasks.ts";
import type { Evaluator } from "./evaluator.ts";
import type { LowerBounds } from "./lower-bounds.ts";
import { hardwareOf, type ProvisioningProblem } from "./problem.ts";

export interface SearchSpace {
  readonly problem: ProvisioningProblem;
  /** Limit for plans: the SLO less the margin. */
  readonly sloMs: number;
  readonly evaluator: Evaluator;
  readonly bounds: LowerBounds;
  /** Mean queries that reach each task per request of the sample. */
  readonly scaleFactors: readonly number[];
}

/** Returns whether a task has fewer replicas than any feasible configuration. */
export function isBelowBounds(
  { problem, bounds }: SearchSpace,
  stage: number,
  one: TaskConfiguration,
): boolean {
  const position = hardwareOf(problem, stage, one).batches.indexOf(one.batch);
  return one.replicas < (bounds.replicas[stage]?.[one.hardware]?.[position] ?? 0);
}

/**
 * Returns whether a configuration is feasible by the estimator; proven infeasible ones are not
 * tried.
 */
export function isFeasible(space: SearchSpace, configuration: Configuration): boolean {
  if (configuration.some((one, stage) => isBelowBounds(space, stage, one))) return false;
  return space.evaluator.isFeasible(configuration);
}

/** Returns a copy with one task changed. */
export function replaced(
  configuration: Configuration,
  stage: number,
  one: TaskConfiguration,
): Configuration {
  return configuration.map((other, index) => (index === stage ? one : other));
}

/** Number of replicas with which no query of the sample ever waits. */
export function unlimited({ evaluator }: SearchSpace): number {
  const most = ({ requestCount, visits }: FeedForward): number =>
    Math.max(requestCount, ...visits.stages.map(({ count }) => count));
  return Math.max(1, ...evaluator.traces.map(most));
}

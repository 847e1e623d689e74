import { FeedForward } from "../../compiler/graph/feed-forward.ts";
import type { Configuration, TaskConfiguration } from "../../compiler/graph/served-tasks.ts";
import {
  costOf,
  excessOf,
  type ProvisioningProblem,
} from "../../compiler/methods/inferline/solve/problem.ts";
import type { RequestTrace } from "../../compiler/simulate/graph/visits.ts";

/** Whether no more requests than may be are late, by an estimator that has seen nothing before. */
export function meetsSlo(
  problem: ProvisioningProblem,
  configuration: Configuration,
  traces: readonly RequestTrace[],
  sloMs: number,
): boolean {
  return traces.every((trace) => {
    const estimate = new FeedForward(problem, trace, sloMs);
    for (const [stage, one] of configuration.entries()) {
      estimate.prepare(stage);
      estimate.serve(stage, one, Number.POSITIVE_INFINITY);
    }
    return estimate.misses() <= estimate.allowedMisses;
  });
}

/** All configurations with at most so many replicas for each stage. */
function* allConfigurations(
  problem: ProvisioningProblem,
  mostReplicas: number,
): Generator<Configuration> {
  const choices = problem.stages.map(({ hardware }) =>
    hardware.flatMap(({ batches }, index) =>
      batches.flatMap((batch) =>
        Array.from({ length: mostReplicas }, (_, more): TaskConfiguration => {
          return { hardware: index, batch, replicas: 1 + more };
        }),
      ),
    ),
  );
  const total = choices.reduce((product, { length }) => product * length, 1);
  for (let number = 0; number < total; number++) {
    let left = number;
    yield choices.map((options) => {
      const one = options[left % options.length];
      left = Math.floor(left / options.length);
      if (one === undefined) throw new RangeError("a stage has choices");
      return one;
    });
  }
}

/**
 * The least cost of any configuration that meets the SLO, and all that do; Infinity if none does.
 */
export function bruteForce(
  problem: ProvisioningProblem,
  traces: readonly RequestTrace[],
  sloMs: number,
  mostReplicas: number,
): { readonly cost: number; readonly feasible: readonly Configuration[] } {
  const feasible = [...allConfigurations(problem, mostReplicas)].filter(
    (configuration) =>
      excessOf(problem, configuration) === 0 && meetsSlo(problem, configuration, traces, sloMs),
  );
  const costs = feasible.map((configuration) => costOf(problem, configuration));
  return { cost: Math.min(...costs), feasible };
}

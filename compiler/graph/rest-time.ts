/** Lower bound on the time that the tasks after a task take. */
import { aloneMs, type ServedTasks } from "./served-tasks.ts";
import type { VisitPlan } from "./visit-plan.ts";

/**
 * Returns the least time from the end of each task to the end of the request, on the fastest
 * hardware and without waiting.
 */
export function restOf(problem: ServedTasks, { stages }: VisitPlan): Float64Array {
  const restMs = new Float64Array(stages.length);
  for (let stage = stages.length - 1; stage >= 0; stage--) {
    const { tasks, takesAll } = at(stages, stage).next;
    if (tasks.length === 0) continue;
    const after = tasks.map(
      (task) => problem.hopMs + fastestMs(problem, task) + (restMs[task] ?? 0),
    );
    restMs[stage] = takesAll ? Math.max(...after) : Math.min(...after);
  }
  // Sums in another order than a simulation's differ in the last digits; the factor keeps rounding
  // from making a request late.
  return restMs.map((ms) => ms * (1 - 1e-9));
}

/** Service time of a batch of one on the fastest hardware, ms. */
export function fastestMs({ stages }: ServedTasks, stage: number): number {
  return Math.min(...at(stages, stage).hardware.map(aloneMs));
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError("stage index out of range");
  return item;
}

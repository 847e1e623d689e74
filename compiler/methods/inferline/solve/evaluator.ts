/**
 * Checks whether configurations meet the SLO on every sample trace; tasks that a configuration
 * shares with the previous one are not served again.
 */
import type { FeedForward } from "../../../graph/feed-forward.ts";
import type { Configuration, TaskConfiguration } from "../../../graph/served-tasks.ts";
import type { ProvisioningProblem } from "./problem.ts";

export class Evaluator {
  readonly traces: readonly FeedForward[];
  /** Tasks that were served, of all traces. */
  evaluations = 0;
  /** Queries that were served, of all tasks. */
  queries = 0;
  /**
   * For an infeasible configuration, the task after which too many requests were certain to be
   * late; -1 if only all ends together had too many.
   */
  failedAt = -1;
  readonly #problem: ProvisioningProblem;
  /**
   * Configuration that produced the outputs of each task, by trace; null if these are out of date.
   */
  readonly #served: (TaskConfiguration | null)[][];
  /** Per task, on the trace on which it was served last. */
  readonly #wereAllAtWork: boolean[];

  constructor(problem: ProvisioningProblem, traces: readonly FeedForward[]) {
    this.#problem = problem;
    this.traces = traces;
    this.#served = traces.map(() => problem.stages.map(() => null));
    this.#wereAllAtWork = problem.stages.map(() => true);
  }

  isFeasible(configuration: Configuration): boolean {
    return this.traces.every((_, index) => this.#isFeasibleOn(index, configuration));
  }

  /**
   * Returns the latency percentile that must meet the SLO, and the median, each of the worst trace,
   * of a feasible configuration.
   */
  latencyOf(configuration: Configuration): { percentileMs: number; p50Ms: number } {
    const worst = { percentileMs: 0, p50Ms: 0 };
    for (const [index, trace] of this.traces.entries()) {
      if (!this.#isFeasibleOn(index, configuration))
        throw new RangeError("configuration is not feasible");
      worst.percentileMs = Math.max(worst.percentileMs, trace.percentileMs());
      worst.p50Ms = Math.max(worst.p50Ms, trace.medianMs());
    }
    return worst;
  }

  /**
   * Returns whether all replicas of a task were ever busy at once on the trace on which it was last
   * served to the end: if they were not, and the SLO was missed, more replicas would not help.
   */
  wereAllAtWork(stage: number): boolean {
    return this.#wereAllAtWork[stage] ?? true;
  }

  /** Invalidates all outputs, after the traces were used otherwise. */
  forget(): void {
    for (const served of this.#served) served.fill(null);
  }

  #isFeasibleOn(index: number, configuration: Configuration): boolean {
    const trace = this.traces[index];
    const served = this.#served[index];
    if (trace === undefined || served === undefined)
      throw new RangeError("trace index out of range");
    const isNew: boolean[] = [];
    this.failedAt = -1;
    for (const [stage, wanted] of configuration.entries()) {
      const isChanged = !isSame(served[stage] ?? null, wanted) || this.#followsNew(stage, isNew);
      isNew.push(isChanged);
      if (!isChanged) continue;
      served[stage] = null;
      trace.prepare(stage);
      this.evaluations++;
      this.queries += trace.visits.stages[stage]?.count ?? 0;
      const late = trace.serve(stage, wanted);
      this.#wereAllAtWork[stage] = trace.used[1] === 1;
      if (late > trace.allowedMisses) {
        this.failedAt = stage;
        this.#forgetAfter(served, isNew);
        return false;
      }
      served[stage] = wanted;
    }
    return trace.isWithin();
  }

  /**
   * Invalidates the tasks after one that has changed and was not served again.
   * @param isNew tasks that were compared; the others are added.
   */
  #forgetAfter(served: (TaskConfiguration | null)[], isNew: boolean[]): void {
    while (isNew.length < served.length) {
      const stage = isNew.length;
      const isOut = this.#followsNew(stage, isNew);
      if (isOut) served[stage] = null;
      isNew.push(isOut);
    }
  }

  #followsNew(stage: number, isNew: readonly boolean[]): boolean {
    const { graph } = this.#problem;
    for (let edge = graph.inStart[stage] ?? 0; edge < (graph.inStart[stage + 1] ?? 0); edge++) {
      if (isNew[graph.parentByEdge[edge] ?? -1] === true) return true;
    }
    return false;
  }
}

function isSame(a: TaskConfiguration | null, b: TaskConfiguration): boolean {
  if (a === b) return true;
  return (
    a !== null && a.hardware === b.hardware && a.batch === b.batch && a.replicas === b.replicas
  );
}

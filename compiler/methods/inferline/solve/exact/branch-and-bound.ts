/**
 * The cheapest configuration, proven: every cheaper one is tried, or has a prefix with too many
 * misses already, or one that leaves the rest too little time to cost less.
 */
import type { FeedForward } from "../../../../graph/feed-forward.ts";
import {
  aloneMs,
  type Configuration,
  type TaskConfiguration,
} from "../../../../graph/served-tasks.ts";
import type { RootBranches } from "../../../../model/root-branches.ts";
import { costOf, hardwareOf, type TaskHardware } from "../problem.ts";
import type { SearchSpace } from "../search-space.ts";
import { BranchRecorder, isBranchLog, replayed } from "./branch-log.ts";
import { type Choice, type ChoiceUse, Lanes } from "./lanes.ts";

interface Refined {
  /** The best known configuration: the given one, or better. */
  readonly configuration: Configuration | null;
  /** No configuration costs less, millionths per hour. */
  readonly lowerBound: number;
}

/**
 * Decides tasks in their order: decided tasks determine exactly what happens up to there, since no
 * task waits for a later one. So a prefix under which more requests are certain to be late than
 * allowed is dropped with all its extensions. Fluid queues give a lower bound on the cost of the
 * rest, in the time that the hardware of the decided tasks leaves it. Monotonicity is not assumed:
 * more replicas may be worse.
 * @param known a feasible configuration within the pools, or null, and a lower bound on the cost.
 * @param queryLimit of queries that are served, of all tasks: the same inputs search the same.
 * @param branches each decision for the first task is a branch; left out if all are searched.
 */
export function branchAndBound(
  space: SearchSpace,
  known: Refined,
  queryLimit: number,
  branches?: RootBranches,
): Refined {
  return new Search(space, known, queryLimit, branches).run();
}

class Search {
  readonly #space: SearchSpace;
  readonly #traces: readonly FeedForward[];
  readonly #queryLimit: number;
  readonly #lowerBound: number;
  readonly #chosen: TaskConfiguration[] = [];
  readonly #usedByPool: number[];
  readonly #branches: RootBranches | undefined;
  #queries = 0;
  #best: Configuration | null;
  #bestCost: number;
  /** Recorder of the branch that is being searched, if others need its log. */
  #recorder: BranchRecorder | null = null;
  /** Number of branches so far. */
  #branchCount = 0;

  constructor(
    space: SearchSpace,
    { configuration, lowerBound }: Refined,
    queryLimit: number,
    branches?: RootBranches,
  ) {
    const { problem, evaluator } = space;
    // Nothing is left to search after the decision of a single task.
    this.#branches = problem.stages.length > 1 ? branches : undefined;
    this.#space = space;
    this.#traces = evaluator.traces;
    this.#queryLimit = queryLimit;
    this.#lowerBound = lowerBound;
    this.#best = configuration;
    this.#bestCost =
      configuration === null ? Number.POSITIVE_INFINITY : costOf(problem, configuration);
    this.#usedByPool = problem.workersByPool.map(() => 0);
  }

  run(): Refined {
    const open = this.#explore(0, 0);
    this.#space.evaluator.forget();
    return { configuration: this.#best, lowerBound: Math.min(open, this.#bestCost) };
  }

  /**
   * @param cost of the tasks before.
   * @returns the least cost of what was left untried; Infinity if all was tried.
   */
  #explore(stage: number, cost: number): number {
    const { problem } = this.#space;
    const { lanes, restCost } = this.#lanesOf(stage);
    let open = Number.POSITIVE_INFINITY;
    for (let choice = lanes.cheapest(); choice !== null; choice = lanes.cheapest()) {
      const leastOfAll = Math.max(this.#lowerBound, cost + lanes.leastCost(restCost));
      if (leastOfAll >= this.#bestCost) return open;
      if (this.#queries > this.#queryLimit) return Math.min(open, leastOfAll);
      const rest = restCost[choice.hardware] ?? 0;
      const least = Math.max(this.#lowerBound, cost + choice.cost + rest);
      if (least >= this.#bestCost) {
        lanes.close(choice);
        continue;
      }
      const used = this.#usedByPool[choice.pool] ?? 0;
      if (used + choice.replicas > (problem.workersByPool[choice.pool] ?? 0)) {
        lanes.close(choice);
        continue;
      }
      const served = this.#serve(stage, choice, least);
      lanes.advance(choice, served);
      if (served === null) continue;
      this.#chosen[stage] = choice;
      this.#usedByPool[choice.pool] = used + choice.replicas;
      const left =
        stage === 0 && this.#branches !== undefined
          ? this.#followBranch(this.#branches, choice)
          : this.#follow(stage, cost + choice.cost);
      open = Math.min(open, left);
      this.#usedByPool[choice.pool] = used;
    }
    return open;
  }

  /**
   * Configurations of a task, and a lower bound on the cost of all later tasks, by its hardware.
   */
  #lanesOf(stage: number): { readonly lanes: Lanes; readonly restCost: readonly number[] } {
    const { problem, bounds } = this.#space;
    for (const trace of this.#traces) trace.prepare(stage);
    const hardware = problem.stages[stage]?.hardware ?? [];
    const isHopeless = hardware.map((one) =>
      this.#traces.some((trace) => trace.missesAlone(stage, aloneMs(one)) > trace.allowedMisses),
    );
    const before = this.#chosen.slice(0, stage).map((one, at) => hardwareOf(problem, at, one));
    const own = bounds.given(stage, before);
    const restCost = hardware.map((one, index) => {
      if (isHopeless[index] === true) return Number.POSITIVE_INFINITY;
      return this.#restCost(stage, [...before, one]);
    });
    return { lanes: new Lanes(hardware, own.replicas, isHopeless), restCost };
  }

  /**
   * Least cost of all tasks after one.
   * @param before hardware up to that one.
   */
  #restCost(stage: number, before: readonly TaskHardware[]): number {
    const { problem, bounds } = this.#space;
    let cost = 0;
    for (let after = stage + 1; after < problem.stages.length; after++) {
      cost += bounds.given(after, before).cost;
    }
    return cost;
  }

  /** Follows a choice for the first task: takes the known result, or searches if requested. */
  #followBranch(branches: RootBranches, choice: Choice): number {
    const index = this.#branchCount++;
    const key = `${choice.hardware}x${choice.batch}x${choice.replicas}`;
    if (this.#isTaken(branches.known(key))) return Number.POSITIVE_INFINITY;
    if (!branches.isAsked(index)) return Number.POSITIVE_INFINITY;
    const recorder = new BranchRecorder(this.#bestCost);
    this.#recorder = recorder;
    const open = this.#follow(0, choice.cost);
    this.#recorder = null;
    // A branch that the limit has cut is useless to others.
    if (open === Number.POSITIVE_INFINITY) branches.add({ key, found: recorder.log() });
    return open;
  }

  /** Applies a known branch if a search from here would have found the same. */
  #isTaken(log: object | undefined): boolean {
    const known = isBranchLog(log) ? replayed(log, this.#bestCost) : null;
    if (known === null || this.#queries + known.queries > this.#queryLimit) return false;
    this.#queries += known.queries;
    this.#space.evaluator.evaluations += known.evaluations;
    if (known.found !== null) {
      this.#best = known.found.configuration;
      this.#bestCost = known.found.cost;
    }
    return true;
  }

  #follow(stage: number, cost: number): number {
    if (stage + 1 < this.#space.problem.stages.length) return this.#explore(stage + 1, cost);
    if (this.#traces.every((trace) => trace.isWithin())) {
      this.#best = this.#chosen.map(({ hardware, batch, replicas }) => ({
        hardware,
        batch,
        replicas,
      }));
      this.#bestCost = cost;
      this.#recorder?.found(cost, this.#best);
    }
    return Number.POSITIVE_INFINITY;
  }

  /**
   * @returns what the choice used, in any trace; null if too many requests are certain to be late.
   * @param least cost of what follows, with all that was decided.
   */
  #serve(stage: number, choice: TaskConfiguration, least: number): ChoiceUse | null {
    let batch = 0;
    let allAtWork = false;
    const { evaluator } = this.#space;
    for (const trace of this.#traces) {
      const queries = trace.visits.stages[stage]?.count ?? 0;
      evaluator.evaluations++;
      this.#queries += queries;
      this.#recorder?.tried(least, 1, queries);
      if (trace.serve(stage, choice) > trace.allowedMisses) return null;
      batch = Math.max(batch, trace.used[0] ?? 0);
      allAtWork ||= trace.used[1] === 1;
    }
    return { batch, allAtWork };
  }
}

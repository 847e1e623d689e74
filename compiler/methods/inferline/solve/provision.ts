/**
 * The planner: greedy as in the paper, then refined until nothing cheaper is left to try.
 *
 * The paper states its program in words (InferLine §4.3: minimise cost greedily while the latency
 * constraint is satisfied). Variables, for every task i:
 * h(i) hardware, b(i) largest batch, of the profiled sizes, r(i) >= 1 replicas, an integer
 *
 * min sum_i r(i) price(h(i))
 * s.t. late(h, b, r) <= allowed on every sample trace;
 * load(i) < r(i) throughput(h(i), b(i)) for every task; ours, since a trace is short;
 * sum_{i: h(i) in pool P} r(i) <= W(P) for every pool P; ours, the paper has no limit.
 *
 * late() is the number of requests over the SLO when the Estimator (§4.2) serves the trace, and
 * allowed is the number that the SLO's percentile lets be late. late() has no closed form and is
 * not monotone in r, so the program is searched:
 * - greedily, `greedy/initialize.ts` (Algorithm 1: a feasible start) and `greedy/minimize-cost.ts`
 * (Algorithm 2: the action of IncreaseBatch, RemoveReplica and DowngradeHW that saves most, the
 * last to the next cheaper hardware, or to any if the options say so);
 * - then by `exact/branch-and-bound.ts`, which is ours: it proves that nothing is cheaper, or how
 * much cheaper a plan could be when its limit is reached.
 */
import { FeedForward } from "../../../graph/feed-forward.ts";
import type { Configuration, TaskConfiguration } from "../../../graph/served-tasks.ts";
import { branchesOf, type RootBranches } from "../../../model/root-branches.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import { Evaluator } from "./evaluator.ts";
import { branchAndBound } from "./exact/branch-and-bound.ts";
import { initialize } from "./greedy/initialize.ts";
import { type Downgrade, minimizeCost } from "./greedy/minimize-cost.ts";
import { lowerBoundsOf } from "./lower-bounds.ts";
import { costOf, excessOf, hardwareOf, type ProvisioningProblem } from "./problem.ts";
import { scaleFactorsOf } from "./scale-factors.ts";
import { isFeasible, replaced, type SearchSpace } from "./search-space.ts";

export interface ProvisionOptions {
  /** Limit for plans, at most the SLO. */
  readonly sloMs: number;
  /** Load that plans carry indefinitely: a short trace ends before too few replicas fall behind. */
  readonly loadQps?: number;
  readonly refine: "exact" | "none";
  /** Cheaper hardware that greedy tries; default: the next cheaper. */
  readonly downgrade?: Downgrade | undefined;
  /** Queries that the refinement may serve, of all tasks. */
  readonly queryLimit: number;
  /** Known results of other searches. */
  readonly known?: KnownPlan;
  /** Branches of the exact search, if several machines search. */
  readonly branches?: RootBranches | undefined;
}

interface KnownPlan {
  /** Meets the SLO of the options on the traces, within the pools; or null. */
  readonly configuration: Configuration | null;
  /** No configuration that meets it costs less, millionths per hour. */
  readonly lowerBound: number;
}

export interface Provisioned {
  /** Null if none was found that meets the SLO on every trace with the replicas of the pools. */
  readonly configuration: Configuration | null;
  /** Millionths per hour; null if greedy found none. */
  readonly greedyCost: number | null;
  /**
   * No configuration costs less, millionths per hour; Infinity if there is no configuration at all.
   */
  readonly lowerBound: number;
  /** Tasks that were served. */
  readonly evaluations: number;
}

export function provision(
  problem: ProvisioningProblem,
  traces: readonly RequestTrace[],
  { sloMs, loadQps, refine, downgrade = "next", queryLimit, known, branches }: ProvisionOptions,
): Provisioned {
  const space = searchSpace(problem, traces, sloMs, loadQps);
  const { evaluator, bounds } = space;
  const greedy = greedyOf(space, downgrade);
  const greedyCost = greedy === null ? null : costOf(problem, greedy);
  const least = Math.max(
    bounds.cost.reduce((sum, cost) => sum + cost, 0),
    known?.lowerBound ?? 0,
  );
  const found = (configuration: Configuration | null, lowerBound: number): Provisioned => {
    return { configuration, greedyCost, lowerBound, evaluations: evaluator.evaluations };
  };
  if (refine === "none") return found(greedy && settled(space, greedy, downgrade), least);
  const incumbent = cheaperOf(problem, greedy, known?.configuration ?? null);
  const start = { configuration: incumbent, lowerBound: least };
  const own = branchesOf(branches, `${sloMs} ms/at least ${least}`);
  const { configuration, lowerBound } = branchAndBound(space, start, queryLimit, own);
  if (configuration === null) return found(null, Math.max(least, lowerBound));
  const isProven = lowerBound >= costOf(problem, configuration);
  // A search that reached its limit may leave something that a single action makes cheaper.
  const cheapest = isProven
    ? leastLatency(space, configuration)
    : settled(space, minimizeCost(space, configuration, "any"), "any");
  return found(cheapest, Math.max(least, lowerBound));
}

/** Minimizes latency at the same cost, and takes cost reductions that this enables. */
function settled(space: SearchSpace, start: Configuration, downgrade: Downgrade): Configuration {
  let configuration = leastLatency(space, start);
  for (;;) {
    const cheaper = minimizeCost(space, configuration, downgrade);
    if (costOf(space.problem, cheaper) >= costOf(space.problem, configuration)) break;
    configuration = leastLatency(space, cheaper);
  }
  return configuration;
}

/** The plan of the two algorithms of the paper alone; null if they find none in the pools. */
export function greedyPlan(
  problem: ProvisioningProblem,
  traces: readonly RequestTrace[],
  { sloMs, downgrade = "next" }: Pick<ProvisionOptions, "sloMs" | "downgrade">,
): Configuration | null {
  return greedyOf(searchSpace(problem, traces, sloMs), downgrade);
}

function searchSpace(
  problem: ProvisioningProblem,
  traces: readonly RequestTrace[],
  sloMs: number,
  loadQps = 0,
): SearchSpace {
  const estimates = traces.map((trace) => new FeedForward(problem, trace, sloMs));
  const evaluator = new Evaluator(problem, estimates);
  const scaleFactors = scaleFactorsOf(problem, traces);
  const qpsByTask = scaleFactors.map((factor) => factor * loadQps);
  const bounds = lowerBoundsOf(problem, sloMs, estimates, qpsByTask);
  return { problem, sloMs, evaluator, bounds, scaleFactors };
}

function cheaperOf(
  problem: ProvisioningProblem,
  a: Configuration | null,
  b: Configuration | null,
): Configuration | null {
  if (a === null || b === null) return a ?? b;
  return costOf(problem, b) < costOf(problem, a) ? b : a;
}

function greedyOf(space: SearchSpace, downgrade: Downgrade): Configuration | null {
  const first = initialize(space);
  if (first === null) return null;
  const found = minimizeCost(space, first, downgrade);
  return excessOf(space.problem, found) === 0 ? found : null;
}

/** Queries of all tasks that the search may serve: it only decides between equals. */
const QUERY_LIMIT = 5e6;

/**
 * Changes the plan step by step while the latency percentile falls, or the median at the same
 * percentile: greedy and search stop at the first plan that serves at its cost, often with a large
 * batch that makes queries wait for each other. A step changes one task to another batch, or to
 * other hardware at the same cost; or two tasks to other batches, with or without a replica that
 * moves from one to the other.
 * @param start feasible, within the pools.
 * @returns a feasible configuration of the same cost.
 */
function leastLatency(space: SearchSpace, start: Configuration): Configuration {
  const { problem, evaluator } = space;
  const mostQueries = evaluator.queries + QUERY_LIMIT;
  let configuration = start;
  let best = evaluator.latencyOf(start);
  for (let isLower = true; isLower; ) {
    isLower = false;
    for (const other of steps(problem, configuration)) {
      if (evaluator.queries > mostQueries) return configuration;
      if (excessOf(problem, other) > 0 || !isFeasible(space, other)) continue;
      const found = evaluator.latencyOf(other);
      const order = found.percentileMs - best.percentileMs || found.p50Ms - best.p50Ms;
      if (order >= 0) continue;
      configuration = other;
      best = found;
      isLower = true;
      break;
    }
  }
  return configuration;
}

function* steps(
  problem: ProvisioningProblem,
  configuration: Configuration,
): Generator<Configuration> {
  for (const [stage, one] of configuration.entries()) {
    for (const other of forAsMuch(problem, stage, one)) {
      yield replaced(configuration, stage, other);
    }
  }
  for (const [from, giver] of configuration.entries()) {
    for (const [to, taker] of configuration.entries()) {
      if (to !== from) yield* inPairs(problem, configuration, [from, giver], [to, taker]);
    }
  }
}

type Member = readonly [stage: number, task: TaskConfiguration];

/**
 * Yields changes of two tasks with any batches, with or without moving a replica from the first to
 * the second.
 */
function* inPairs(
  problem: ProvisioningProblem,
  configuration: Configuration,
  [from, giver]: Member,
  [to, taker]: Member,
): Generator<Configuration> {
  const one = hardwareOf(problem, from, giver);
  const other = hardwareOf(problem, to, taker);
  const mostMoved = giver.replicas > 1 && one.price === other.price ? 1 : 0;
  // A pair without a move is the same in either order.
  for (let moved = from < to ? 0 : 1; moved <= mostMoved; moved++) {
    for (const batch of one.batches) {
      const fewer = { ...giver, batch, replicas: giver.replicas - moved };
      for (const batchOfOther of other.batches) {
        // Changes of one task alone were tried before.
        if (moved === 0 && (batch === giver.batch || batchOfOther === taker.batch)) continue;
        const more = { ...taker, batch: batchOfOther, replicas: taker.replicas + moved };
        yield replaced(replaced(configuration, from, fewer), to, more);
      }
    }
  }
}

/** Lists the alternatives of a task at the same cost. */
function* forAsMuch(
  problem: ProvisioningProblem,
  stage: number,
  one: TaskConfiguration,
): Generator<TaskConfiguration> {
  const cost = one.replicas * hardwareOf(problem, stage, one).price;
  for (const [hardware, { price, batches }] of (problem.stages[stage]?.hardware ?? []).entries()) {
    const replicas = hardware === one.hardware ? one.replicas : cost / price;
    if (!Number.isInteger(replicas) || replicas < 1) continue;
    for (const batch of batches) {
      if (hardware !== one.hardware || batch !== one.batch) yield { hardware, batch, replicas };
    }
  }
}

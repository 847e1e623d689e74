/**
 * The planner: greedy as the paper has it, then refined until nothing cheaper is left to try.
 *
 * The paper states its program in words (InferLine §4.3: minimise cost greedily while the latency
 * constraint is satisfied). Variables, for every task i:
 *   h(i) hardware,  b(i) largest batch, of the profiled sizes,  r(i) >= 1 replicas, whole
 *
 *   min  sum_i r(i) price(h(i))
 *   s.t. late(h, b, r) <= allowed                  on every sample trace
 *        load(i) < r(i) throughput(h(i), b(i)) for every task; ours, a trace is short
 *        sum_{i: h(i) in pool P} r(i) <= W(P)      for every pool P; ours, the paper has no limit
 *
 * late() is the number of requests over the SLO when the Estimator (§4.2) serves the trace, and
 * allowed is how many the SLO's percentile lets be late. late() has no closed form and is not
 * monotone in r, so the program is searched:
 * - greedily, `greedy/initialize.ts` (Algorithm 1: a feasible start) and `greedy/minimize-cost.ts`
 *   (Algorithm 2: the action of IncreaseBatch, RemoveReplica and DowngradeHW that saves most, the
 *   last to the next cheaper hardware, or to any where the options say so);
 * - then by `exact/branch-and-bound.ts`, which is ours: it proves that nothing is cheaper, or says
 *   how much cheaper a plan could be when its limit is reached.
 */
import { FeedForward } from "../../../graph/feed-forward.ts";
import type { Configuration } from "../../../graph/served-tasks.ts";
import { branchesOf, type RootBranches } from "../../../model/root-branches.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import { Evaluator } from "./evaluator.ts";
import { branchAndBound } from "./exact/branch-and-bound.ts";
import { initialize } from "./greedy/initialize.ts";
import { type Downgrade, minimizeCost } from "./greedy/minimize-cost.ts";
import { leastLatency } from "./least-latency.ts";
import { lowerBoundsOf } from "./lower-bounds.ts";
import { costOf, excessOf, type ProvisioningProblem } from "./problem.ts";
import { scaleFactorsOf } from "./scale-factors.ts";
import type { SearchSpace } from "./search-space.ts";

export interface ProvisionOptions {
  /** What plans are held to, at most the SLO. */
  readonly sloMs: number;
  /** Plans carry it for ever: a short trace is over before too few replicas fall behind. */
  readonly loadQps?: number;
  readonly refine: "exact" | "none";
  /** Which cheaper hardware greedy tries; the next cheaper if left out. */
  readonly downgrade?: Downgrade | undefined;
  /** Queries that the refinement may serve, of all tasks. */
  readonly queryLimit: number;
  /** What is known from elsewhere. */
  readonly known?: KnownPlan;
  /** Of the exact search, where several machines search; left out for one. */
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
  /** No configuration costs less, millionths per hour; Infinity if there is none at all. */
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
  // A search that was cut short may leave something that a single action makes cheaper.
  const cheapest = isProven
    ? leastLatency(space, configuration)
    : settled(space, minimizeCost(space, configuration, "any"), "any");
  return found(cheapest, Math.max(least, lowerBound));
}

/** The least latency at its cost; a cost that this lets fall falls. */
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

/**
 * The best table for one load, by simulation: solutions of the fast server and simple rules compete
 * on the same arrivals, and the best of them on fresh arrivals wins. So no level is worse than an
 * obvious rule.
 *
 * A policy is scored by its accuracy per query, less a penalty for each violation above the
 * ceiling; among policies with close scores, the price of latency decides. If two candidates lie on
 * either side of the ceiling, mixtures of both are tried: a random draw at each decision chooses
 * one of them.
 */
import { GIVE_UP, NO_ACTION } from "stratagem-runtime/internal/bundle/schema";
import type { LatencySummary } from "../../../../simulate/latency-sample.ts";
import type { FluidBound } from "../fluid-bound.ts";
import {
  isBetter,
  type Percentiles,
  TARGET_PENALTY,
  targetExcess,
  type Worth,
} from "../latency-objective.ts";
import {
  type ActionWorth,
  FastServer,
  type Look,
  type Prices,
  type Solver,
} from "./fast-server.ts";
import { isOneWorker, OneWorker } from "./one-worker.ts";
import { asOneClass, type PooledAction, type PooledProblem, stretched } from "./pooled-problem.ts";
import {
  BLOCKS,
  type Decide,
  type DecisionTable,
  meanLatencyMs,
  type PooledOutcome,
  type Surroundings,
  servedSummary,
  simulatePooled,
  UNDECIDED,
} from "./pooled-simulation.ts";
import type { SimpleRule } from "./simple-rules.ts";

/** A way to decide, and the cells that it has decided so far. */
export interface Candidate {
  readonly name: string;
  readonly table: DecisionTable;
  /**
   * Worth of the batches that can be formed in a state, best first; null for a rule that does not
   * weigh actions.
   */
  readonly worths: ((queued: number, slackMs: number) => ActionWorth[]) | null;
}

export interface FoundPolicy {
  readonly candidate: Candidate;
  readonly mixture: { readonly candidate: Candidate; readonly share: number } | null;
  /** Policies tried. */
  readonly tries: number;
}

/**
 * Arrivals of a separate random stream, with at least this many queries and SLOs; the same for the
 * same arguments.
 */
export type Sample = (stream: number, queries: number, slos: number) => Surroundings;

/** Samples: for a glance at rules, a first look, for choosing, and for the final decision. */
const GLANCE = { stream: 15, queries: 1_500, slos: 2 };
const LOOK = { stream: 11, queries: 8_000, slos: 5 };
const CHOICE = { stream: 12, queries: 16_000, slos: 16 };
const FINAL = { stream: 13, queries: 50_000, slos: 60 };
/**
 * Violations that a policy at the ceiling shows in the final sample, as far as its queries suffice.
 */
const VIOLATIONS_SHOWN = 150;
const MOST_FINAL_QUERIES = 200_000;
/** Exact solutions differ by less than the noise of a sample. */
const EXACT_QUERIES = 400_000;
/** Accuracy that each violation per query above the ceiling costs a policy. */
const VIOLATION_PENALTY = 20;
/** Distance to the bound below which another try is not worth it. */
const BOUND_TOLERANCE = 1e-5;
/**
 * Percentiles of a sample are lengthened by this factor, since those of another sample may be
 * longer.
 */
const TARGET_SAFETY = 1.02;
/** Factor between prices of latency while a target is missed, and the number of them. */
const TARGET_STEP = 4;
const MOST_TARGET_PRICES = 8;
/** The first price of latency that is tried for a target is above this one. */
const LEAST_PRICE = 1e-4;
/** Prices between the last that misses the target and the first that keeps it. */
const TARGET_BISECTIONS = 3;
/** Standard errors by which a sample must keep the ceiling. */
const SAFETY = 2;
/** A rule that is worse by this much accuracy at a glance is skipped. */
const HOPELESS = 0.1;

/**
 * Prices of a violation that the fast server is solved for: a first one, then higher or lower ones
 * as the ceiling requires.
 */
const FIRST_PRICE = 0.3;
const PRICE_STEP = 2.5;
const MOST_PRICES = 3;
const BRIEF_PRICES = 1;
/** Number of prices while the ceiling does not hold. */
const MOST_PRICES_TO_HOLD = 6;
/** Tolerance of the fast server's gain in a brief search, in accuracy per query. */
const BRIEF_TOLERANCE = 2e-5;
/** Fraction of the value of a waiting worker's time that is given back. */
const CREDIT = 0.8;
/** Limit of the credit, as a fraction of all reward. */
const MOST_CREDIT = 0.4;
/** Additional worth of waiting, in accuracy; first none. */
const PATIENCES = [0, 0.05, 0.2];
/** The exact solution, which may drop queries that it could serve in time, and one that may not. */
const EXACT_PATIENCES = [0, 1e-9];
/**
 * The process is not exact for several workers, so one solution is for accuracy, with this factor
 * of the safe price, and another for latency: with this factor of the price, and longer times,
 * which leaves reserves. Found on ImageNet with 60 workers, of prices from 0.0002 to 0.01 and
 * stretches from 1 to 1.4.
 */
const ACCURATE = { priceFactor: 2 };
const QUICK = { priceFactor: 5, stretch: 1.25 };
/** Mean latency, in run times of the fastest batch of the best accuracy, that is low enough. */
const LOW_LATENCY = 1.1;

const FINALISTS = 4;
const MIXTURE_TRIES = 3;
/** Maximum share of the bolder policy in a mixture. */
const MOST_SHARE = 0.95;

interface Judged extends Worth {
  readonly candidate: Candidate;
  readonly accuracy: number;
  readonly violationRate: number;
  /** Mean over the queries that were served. */
  readonly latencyMs: number;
  /** Excess over the targets of latency, relative to them; 0 if they are kept. */
  readonly missed: number;
  /** Whether the latency targets are kept, and the ceiling with its safety margin. */
  readonly isAllowed: boolean;
}

/**
 * @param rules other candidates; evaluated unless the first solution is as good as any policy can
 * be.
 */
export function searchPolicy(
  problem: PooledProblem,
  bound: FluidBound,
  sample: Sample,
  rules: () => readonly SimpleRule[],
  effort: SearchEffort = "full",
): FoundPolicy {
  return new PolicySearch(problem, bound, sample, effort).run(rules);
}

/** Brief searches try fewer prices on shorter samples: a third of the time. */
export type SearchEffort = "full" | "brief";

class PolicySearch {
  readonly #isBrief: boolean;
  readonly #problem: PooledProblem;
  readonly #bound: FluidBound;
  readonly #sample: Sample;
  readonly #arrivals = new Map<number, Surroundings>();
  readonly #final: typeof LOOK;
  /** Whether the solved process is exact. */
  readonly #isExact: boolean;
  #tries = 0;

  constructor(problem: PooledProblem, bound: FluidBound, sample: Sample, effort: SearchEffort) {
    this.#isBrief = effort === "brief";
    this.#isExact = effort === "full" && isOneWorker(problem);
    this.#problem = problem;
    this.#bound = bound;
    this.#sample = sample;
    const enough = Math.min(MOST_FINAL_QUERIES, VIOLATIONS_SHOWN / problem.maxViolationRate);
    const queries = this.#isExact ? EXACT_QUERIES : Math.max(FINAL.queries, enough);
    this.#final = this.#isBrief ? CHOICE : { ...FINAL, queries };
  }

  run(rules: () => readonly SimpleRule[]): FoundPolicy {
    const solved = this.#solveFastServer();
    const atBound = unlikeOnes(solved).filter((one) => this.#isAtBound(one));
    if (atBound.length > 0) {
      const [best] = this.#ranked(atBound.slice(0, FINALISTS), this.#final);
      if (best !== undefined && this.#isAtBound(best)) return this.#found(best.candidate);
    }
    const simple = rules().map(({ name, decide }) => this.#candidate(name, decide, null));
    const hopeful = simple.filter((candidate) => !this.#isHopeless(candidate, solved));
    return this.#choose([...solved, ...hopeful.map((candidate) => this.#judge(candidate, LOOK))]);
  }

  /** Whether a glance shows that another is better, with or without the ceiling. */
  #isHopeless(candidate: Candidate, others: readonly Judged[]): boolean {
    const glance = this.#judge(candidate, GLANCE);
    return others.some(
      (other) =>
        other.score > glance.score + HOPELESS && fallback(other) > fallback(glance) + HOPELESS,
    );
  }

  #isAtBound(judged: Judged): boolean {
    const { mostAccuracy } = this.#problem.latency;
    const tolerance = Number.isFinite(mostAccuracy) ? mostAccuracy : BOUND_TOLERANCE;
    return judged.score >= this.#bound.accuracy - tolerance;
  }

  /** The best by fresh arrivals, or a mixture of two. */
  #choose(pool: readonly Judged[]): FoundPolicy {
    const unlike = unlikeOnes(pool);
    const looked = promising(unlike, this.#isBrief ? FINALISTS : 2 * FINALISTS);
    const needsNone = this.#isBrief && this.#isKept(looked);
    const fallbacks = needsNone ? [] : [...unlike].sort(byFallback).slice(0, 2);
    const chosen = this.#ranked([...new Set([...looked, ...fallbacks])], CHOICE);
    if (this.#isBrief && chosen[0] !== undefined) return this.#found(chosen[0].candidate);
    const isKept = this.#isKept(chosen);
    const finalists = unlikeOnes(chosen);
    const final = this.#ranked(
      isKept ? promising(finalists, FINALISTS) : finalists.slice(0, FINALISTS),
      this.#final,
    );
    const [best] = final;
    if (best === undefined) throw new RangeError("no policy was tried");
    return this.#mixed(best, [...chosen, ...pool]) ?? this.#found(best.candidate);
  }

  /**
   * Ranks by worth. If no candidate keeps the ceiling, as beyond capacity, ranks by the cost of a
   * violation without a ceiling.
   */
  #ranked(judged: readonly Judged[], sample: typeof LOOK): Judged[] {
    const again = judged.map(({ candidate }) => this.#judge(candidate, sample));
    return this.#isKept(again) ? this.#byWorth(again) : again.sort(byFallback);
  }

  /** Whether any candidate keeps the ceiling. */
  #isKept(judged: readonly Judged[]): boolean {
    const { maxViolationRate } = this.#problem;
    return judged.some(({ violationRate }) => violationRate <= maxViolationRate);
  }

  /** Sorts the candidates near the best score by worth, and the others after them by score. */
  #byWorth(judged: readonly Judged[]): Judged[] {
    const best = Math.max(...judged.map(({ score }) => score));
    const least = best - this.#problem.latency.mostAccuracy;
    const near = judged.filter(({ score }) => score >= least);
    const others = judged.filter(({ score }) => score < least);
    return [...near.sort((a, b) => b.worth - a.worth), ...others.sort((a, b) => b.score - a.score)];
  }

  #isBetter(one: Judged, other: Judged): boolean {
    return isBetter(this.#problem.latency, one, other);
  }

  #found(candidate: Candidate, mixture: FoundPolicy["mixture"] = null): FoundPolicy {
    return { candidate, mixture, tries: this.#tries };
  }

  /**
   * A mixture with a policy of more accuracy and too many violations, if that is better than the
   * best alone.
   */
  #mixed(best: Judged, pool: readonly Judged[]): FoundPolicy | null {
    const { maxViolationRate, violationPrice } = this.#problem;
    // If violations have a price, only exact tables gain from a mixture.
    if (violationPrice > 0 && !this.#isExact) return null;
    const bolder = pool
      .filter((one) => {
        const isBolder = violationPrice > 0 ? !one.isAllowed : one.violationRate > maxViolationRate;
        return one.accuracy > best.accuracy && isBolder;
      })
      .sort((a, b) => steepness(best, b) - steepness(best, a))[0];
    if (bolder === undefined || best.violationRate >= maxViolationRate) return null;
    let found: FoundPolicy | null = null;
    let top = best;
    let [low, high] = [0, 1];
    const most =
      (maxViolationRate - best.violationRate) / (bolder.violationRate - best.violationRate);
    let share = Math.min(MOST_SHARE, most);
    for (let tried = 0; tried < MIXTURE_TRIES; tried++) {
      const mixture = { candidate: bolder.candidate, share };
      const judged = this.#judge(best.candidate, this.#final, mixture);
      if (this.#isBetter(judged, top) && (judged.isAllowed || !best.isAllowed)) {
        top = judged;
        found = this.#found(best.candidate, mixture);
      }
      if (judged.isAllowed) low = share;
      else high = share;
      share = (low + high) / 2;
    }
    return found;
  }

  /** Solutions for several prices of a violation and of latency, the best first. */
  #solveFastServer(): Judged[] {
    const problem = this.#problem;
    const { latency, workerCount } = problem;
    const server = this.#solver();
    const violationPrice = Math.max(FIRST_PRICE, problem.violationPrice);
    const safeFactor = workerCount === 1 ? 1 : ACCURATE.priceFactor;
    const latencyPrice = safeFactor * latency.safePrice;
    const start: Prices = { violationPrice, credit: 0, latencyPrice };
    const judged: Judged[] = [];
    if (workerCount === 1 && latency.price > latency.safePrice) {
      judged.push(...this.#solved(server, { ...start, latencyPrice: latency.price }));
      if (judged.some((one) => this.#isAtBound(one))) return this.#byWorth(judged);
    }
    const first = this.#solved(server, start);
    judged.push(...first);
    let [best, prices] = [this.#byWorth(first)[0] as Judged, start];
    const credit = this.#isBrief ? 0 : this.#credit();
    if (credit > 0 && !this.#isAtBound(best)) {
      const others = this.#solved(server, { ...start, credit });
      judged.push(...others);
      const [next] = this.#byWorth(others) as [Judged, ...Judged[]];
      if (this.#isBetter(next, best)) [best, prices] = [next, { ...start, credit }];
    }
    [best, prices] = this.#descend(server, best, prices, judged);
    if (workerCount > 1 && !this.#isQuick(best)) judged.push(...this.#solveQuick(best, prices));
    if (this.#isBrief) return this.#byWorth(judged);
    if (judged.every(({ missed }) => missed > 0)) judged.push(...this.#solveTargets(prices));
    return this.#byWorth(judged);
  }

  #solver(): Solver {
    const problem = this.#problem;
    if (this.#isExact) return new OneWorker(problem);
    return new FastServer(asOneClass(problem), this.#isBrief ? BRIEF_TOLERANCE : undefined);
  }

  /** Solutions for rising prices of latency, until its targets are kept. */
  #solveTargets(prices: Prices): Judged[] {
    const server = this.#solver();
    const judged: Judged[] = [];
    const misses = (latencyPrice: number): boolean => {
      const solved = this.#solved(server, { ...prices, credit: 0, latencyPrice });
      judged.push(...solved);
      return solved.every(({ missed }) => missed > 0);
    };
    let low = Math.max(this.#problem.latency.price, this.#problem.latency.safePrice, LEAST_PRICE);
    let high = TARGET_STEP * low;
    for (let tried = 0; misses(high); tried++) {
      if (tried === MOST_TARGET_PRICES) return judged;
      [low, high] = [high, TARGET_STEP * high];
    }
    for (let tried = 0; tried < TARGET_BISECTIONS; tried++) {
      const middle = Math.sqrt(low * high);
      if (misses(middle)) low = middle;
      else high = middle;
    }
    return judged;
  }

  /** Credit for the time that one of several workers waits; reward per ms. */
  #credit(): number {
    const { workerCount, arrivalsPerMs } = this.#problem;
    if (workerCount === 1) return 0;
    const mostCredit = MOST_CREDIT * this.#bound.accuracy * arrivalsPerMs;
    return Math.min(CREDIT * workerCount * this.#bound.price, mostCredit);
  }

  /** Descends in steps of the violation price, turning once if the first goes the wrong way. */
  #descend(server: Solver, from: Judged, first: Prices, judged: Judged[]): [Judged, Prices] {
    let [best, prices] = [from, first];
    let factor = best.isAllowed ? 1 / PRICE_STEP : PRICE_STEP;
    for (let tried = 0; !this.#isAtBound(best); tried++) {
      const most = best.isAllowed ? MOST_PRICES : MOST_PRICES_TO_HOLD;
      if (tried >= (this.#isBrief ? BRIEF_PRICES : most)) break;
      const asked = { ...prices, violationPrice: prices.violationPrice * factor };
      const solved = this.#solved(server, asked);
      const [next] = this.#byWorth(solved) as [Judged, ...Judged[]];
      judged.push(...solved);
      // If the price makes no difference, another one hardly does either.
      if (isAlike(next, best) && (best.isAllowed || !this.#isExact)) break;
      if (isAlike(next, best) || this.#isBetter(next, best)) [best, prices] = [next, asked];
      else if (prices === first && tried === 0) factor = 1 / factor;
      else break;
    }
    return [best, prices];
  }

  /**
   * A solution with reserves; falls back to the best one in states that it cannot serve in time.
   */
  #solveQuick(best: Judged, prices: Prices): Judged[] {
    const server = new FastServer(stretched(asOneClass(this.#problem), QUICK.stretch));
    const latencyPrice = QUICK.priceFactor * this.#problem.latency.price;
    const quick = { ...prices, credit: 0, latencyPrice };
    // The first solution of a process has not quite converged, and the second takes little time.
    server.solve(quick);
    return this.#solved(server, quick, PATIENCES.slice(0, 2), best.candidate);
  }

  /** Whether no policy of the same accuracy has a much lower latency. */
  #isQuick({ score, latencyMs }: Judged): boolean {
    const runs = this.#problem.choices.filter(
      ({ accuracy }) => accuracy >= score - BOUND_TOLERANCE,
    );
    return latencyMs <= LOW_LATENCY * Math.min(...runs.map(({ serviceMs }) => serviceMs));
  }

  #patiences(): readonly number[] {
    if (this.#isExact) return EXACT_PATIENCES;
    return this.#isBrief ? PATIENCES.slice(0, 2) : PATIENCES;
  }

  /**
   * The solution, and versions that are more willing to wait.
   * @param fallback decides the states in which the solution drops queries.
   */
  #solved(
    server: Solver,
    prices: Prices,
    patiences: readonly number[] = this.#patiences(),
    fallback: Candidate | null = null,
  ): Judged[] {
    server.solve(prices);
    const solution = server.solution();
    const restored = (): Solver => {
      solution();
      return server;
    };
    const looks: (Look | undefined)[] = [];
    const efficient = this.#mostEfficient(prices.violationPrice);
    const largest = Math.max(...this.#problem.choices.map(({ batch }) => batch));
    return patiences.map((patience) => {
      const decide: Decide = (queued, slackMs, cell) => {
        looks[cell] ??= restored().look(queued, slackMs);
        const { chosen, waitAdvantage } = looks[cell];
        // A queue that has the largest batch gains nothing by waiting, and may stay late for ever.
        if (waitAdvantage + patience > 0 && queued < largest) return NO_ACTION;
        if (chosen !== GIVE_UP || (this.#isExact && patience === 0)) return chosen;
        const isTimely = efficient && slackMs >= efficient.serviceMs;
        if (isTimely && queued >= efficient.batch) return efficient.index;
        return fallback === null ? chosen : fallback.table.decideCell(queued, slackMs, cell);
      };
      const worths: Candidate["worths"] = (queued, slackMs) => restored().worths(queued, slackMs);
      return this.#judge(this.#candidate("fast-server", decide, worths), LOOK);
    });
  }

  /**
   * Returns the batch in time with the most worth per time, if there is one. A query that it serves
   * in time is not dropped: the next batch would take as long, and leave one query less.
   */
  #mostEfficient(violationPrice: number): PooledAction | null {
    const worthPerMs = ({ accuracy, batch, meanMs }: PooledAction): number =>
      ((accuracy + violationPrice) * batch) / meanMs;
    return this.#problem.choices.reduce<PooledAction | null>(
      (best, action) => (best && worthPerMs(best) >= worthPerMs(action) ? best : action),
      null,
    );
  }

  #candidate(name: string, decideCell: Decide, worths: Candidate["worths"]): Candidate {
    const { rows, slackMs } = this.#problem;
    const cells = new Uint16Array(rows.length * slackMs.length).fill(UNDECIDED);
    return { name, table: { cells, decideCell }, worths };
  }

  #judge(
    candidate: Candidate,
    { stream, queries, slos }: typeof LOOK,
    mixture: FoundPolicy["mixture"] = null,
  ): Judged {
    this.#tries++;
    const known = this.#arrivals.get(stream);
    const surroundings = known ?? this.#sample(stream, queries, slos);
    if (known === undefined) this.#arrivals.set(stream, surroundings);
    const outcome = simulatePooled(this.#problem, surroundings, {
      table: candidate.table,
      mixture: mixture && { table: mixture.candidate.table, share: mixture.share },
    });
    const accuracy = outcome.accuracySum / outcome.queries;
    const violationRate = outcome.violations / outcome.queries;
    const excess = Math.max(0, violationRate - this.#allowed(outcome));
    const cost = VIOLATION_PENALTY * excess + this.#problem.violationPrice * violationRate;
    const missed = this.#missedTargets(outcome);
    const score = accuracy - cost - TARGET_PENALTY * missed;
    const latencyMs = meanLatencyMs(outcome);
    const worth = score - (this.#problem.latency.price * latencyMs) / this.#problem.sloMs;
    const isAllowed = excess === 0 && missed === 0;
    return { candidate, accuracy, violationRate, latencyMs, isAllowed, missed, score, worth };
  }

  /** Returns the excess of percentiles over their targets, relative to these. */
  #missedTargets(outcome: PooledOutcome): number {
    const { targets } = this.#problem;
    const latencies = targets && servedSummary(outcome.latencyMs);
    return latencies ? targetExcess(targets, lengthened(latencies)) : 0;
  }

  /** The violations that a sample may show, so that the true rate is hardly above the ceiling. */
  #allowed(outcome: PooledOutcome): number {
    const { maxViolationRate } = this.#problem;
    // Promises use fewer queries than the comparison of exact solutions.
    const queries = this.#isExact ? Math.min(outcome.queries, FINAL.queries) : outcome.queries;
    const error = Math.sqrt((maxViolationRate * clustering(outcome)) / queries);
    return Math.max(maxViolationRate / 2, maxViolationRate - SAFETY * error);
  }
}

/**
 * Variance over mean of the violations in blocks of queries, at least 1: late queries come in
 * clusters.
 */
function clustering({
  violations,
  violationsByBlock,
}: Pick<PooledOutcome, "violations" | "violationsByBlock">): number {
  if (violations === 0) return 1;
  const mean = violations / BLOCKS;
  const squares = violationsByBlock.reduce((sum, count) => sum + (count - mean) ** 2, 0);
  return Math.max(1, squares / (BLOCKS - 1) / mean);
}

/**
 * Returns an upper bound that the true rate hardly exceeds: three standard errors above the
 * observed rate, or three violations without any (rule of three).
 */
export function upperRate(
  seen: Pick<PooledOutcome, "violations" | "violationsByBlock">,
  queries: number,
): number {
  const error = Math.sqrt(seen.violations * clustering(seen));
  return Math.min(1, (seen.violations + 3 * error + 3) / Math.max(1, queries));
}

/** Lengthens percentiles to allow for other arrivals. */
function lengthened({ p50, p95 }: LatencySummary): Percentiles {
  return { p50: TARGET_SAFETY * p50, p95: TARGET_SAFETY * p95 };
}

/**
 * Accuracy that a violation costs if the ceiling cannot be kept: enough to serve rather than drop,
 * but not at any accuracy.
 */
const FALLBACK_PRICE = 1;

function fallback({ accuracy, violationRate }: Judged): number {
  return accuracy - FALLBACK_PRICE * violationRate;
}

function byFallback(a: Judged, b: Judged): number {
  return fallback(b) - fallback(a);
}

/** Candidates with the same decisions as others are not judged again. */
function unlikeOnes(judged: readonly Judged[]): Judged[] {
  const byOutcome = new Map(
    judged
      .map((one) => [`${one.accuracy} ${one.violationRate} ${one.worth}`, one] as const)
      .reverse(),
  );
  return [...byOutcome.values()].reverse();
}

/**
 * Returns the candidates of the most worth and that of the highest score. On small samples
 * differences of a ten-thousandth are noise.
 */
function promising(judged: readonly Judged[], count: number): Judged[] {
  const byScore = [...judged].sort((a, b) => b.score - a.score);
  const byWorth = [...judged].sort((a, b) => b.worth - a.worth);
  return [...new Set([...byScore.slice(0, 1), ...byWorth])].slice(0, count);
}

function isAlike(one: Judged, other: Judged): boolean {
  return one.worth === other.worth && one.accuracy === other.accuracy;
}

/** Accuracy gained per violation. */
function steepness(safe: Judged, bold: Judged): number {
  return (bold.accuracy - safe.accuracy) / (bold.violationRate - safe.violationRate);
}

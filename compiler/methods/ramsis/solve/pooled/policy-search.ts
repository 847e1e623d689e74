/**
 * The best table for one load, by simulation: the solutions of the fast server and rules that are
 * told in a sentence compete on the same arrivals, and the best of them on arrivals none was made
 * with wins. So no level is worse than a rule that anybody would write.
 *
 * A policy is scored by its accuracy per query, less a penalty for each violation above the
 * ceiling. Where two candidates lie on either side of the ceiling, mixtures of both are tried: a
 * coin says at each decision which of them is asked.
 */
import { NO_ACTION } from "stratagem-runtime/internal/bundle/schema";
import type { FluidBound } from "../fluid-bound.ts";
import { type ActionWorth, FastServer, type Look } from "./fast-server.ts";
import { asOneClass, type PooledProblem } from "./pooled-problem.ts";
import {
  BLOCKS,
  type Decide,
  type DecisionTable,
  type PooledOutcome,
  type Surroundings,
  simulatePooled,
  UNDECIDED,
} from "./pooled-simulation.ts";
import type { SimpleRule } from "./simple-rules.ts";

/** A way to decide, and the cells that it has decided so far. */
export interface Candidate {
  readonly name: string;
  readonly table: DecisionTable;
  /**
   * What the batches that can be formed in a state are worth to it, best first; null for a rule
   * that weighs nothing.
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
 * Arrivals of a random stream of its own, so many queries and so many SLOs at least; the same for
 * the same arguments.
 */
export type Sample = (stream: number, queries: number, slos: number) => Surroundings;

/** For a first look, for choosing, and for the last word: some policies take long to break down. */
const LOOK = { stream: 11, queries: 8_000, slos: 5 };
const CHOICE = { stream: 12, queries: 16_000, slos: 16 };
const FINAL = { stream: 13, queries: 50_000, slos: 60 };
/** Violations that a policy at the ceiling shows in the last word, as far as so many queries go. */
const VIOLATIONS_SHOWN = 150;
const MOST_FINAL_QUERIES = 200_000;
/** Accuracy that a violation too many per query costs a policy. */
const VIOLATION_PENALTY = 20;
/** Accuracy below the bound that is not worth another try. */
const BOUND_TOLERANCE = 1e-5;
/** Standard errors by which a sample has to keep the ceiling. */
const SAFETY = 2;

/**
 * Prices of a violation that the fast server is solved for: first one, then more or less as the
 * ceiling asks.
 */
const FIRST_PRICE = 0.3;
const PRICE_STEP = 2.5;
const MOST_PRICES = 3;
/** And where the ceiling does not hold yet. */
const MOST_PRICES_TO_HOLD = 6;
/** This part of the value of the workers' time that is lost where one waits is given back. */
const CREDIT = 0.8;
/** At most this part of all that is earned. */
const MOST_CREDIT = 0.4;
/** Worth of waiting beyond what the process says, in accuracy; first none. */
const PATIENCES = [0, 0.05, 0.2];

const FINALISTS = 4;
const MIXTURE_TRIES = 3;

interface Judged {
  readonly candidate: Candidate;
  readonly accuracy: number;
  readonly violationRate: number;
  /** Whether the ceiling is kept by as much as chance asks for. */
  readonly isAllowed: boolean;
  readonly score: number;
}

/**
 * @param rules what else competes; asked for unless the first solution is as good as any policy can
 * be.
 */
export function searchPolicy(
  problem: PooledProblem,
  bound: FluidBound,
  sample: Sample,
  rules: () => readonly SimpleRule[],
): FoundPolicy {
  return new PolicySearch(problem, bound, sample).run(rules);
}

class PolicySearch {
  readonly #problem: PooledProblem;
  readonly #bound: FluidBound;
  readonly #sample: Sample;
  readonly #arrivals = new Map<number, Surroundings>();
  readonly #final: typeof LOOK;
  #tries = 0;

  constructor(problem: PooledProblem, bound: FluidBound, sample: Sample) {
    this.#problem = problem;
    this.#bound = bound;
    this.#sample = sample;
    const enough = Math.min(MOST_FINAL_QUERIES, VIOLATIONS_SHOWN / problem.maxViolationRate);
    this.#final = { ...FINAL, queries: Math.max(FINAL.queries, enough) };
  }

  run(rules: () => readonly SimpleRule[]): FoundPolicy {
    const solved = this.#solveFastServer();
    const [first] = solved;
    if (first !== undefined && this.#isAtBound(first)) {
      const again = this.#judge(first.candidate, this.#final);
      if (this.#isAtBound(again)) return this.#found(again.candidate);
    }
    const simple = rules().map(({ name, decide }) =>
      this.#judge(this.#candidate(name, decide, null), LOOK),
    );
    return this.#choose([...solved, ...simple]);
  }

  #isAtBound(judged: Judged): boolean {
    return judged.score >= this.#bound.accuracy - BOUND_TOLERANCE;
  }

  /** The best by fresh arrivals, or a mixture of two. */
  #choose(pool: readonly Judged[]): FoundPolicy {
    const unlike = unlikeOnes(pool);
    const looked = [...unlike].sort(byScore).slice(0, 2 * FINALISTS);
    const fallbacks = [...unlike].sort(byFallback).slice(0, 2);
    const chosen = this.#ranked([...new Set([...looked, ...fallbacks])], CHOICE);
    const final = this.#ranked(unlikeOnes(chosen).slice(0, FINALISTS), this.#final);
    const [best] = final;
    if (best === undefined) throw new RangeError("some policy is tried");
    return this.#mixed(best, [...chosen, ...pool]) ?? this.#found(best.candidate);
  }

  /**
   * Ranks by score. If nobody keeps the ceiling, as beyond capacity, the rank goes by what a
   * violation costs where no ceiling is stated.
   */
  #ranked(judged: readonly Judged[], sample: typeof LOOK): Judged[] {
    const again = judged.map(({ candidate }) => this.#judge(candidate, sample));
    const { maxViolationRate } = this.#problem;
    const isKept = again.some(({ violationRate }) => violationRate <= maxViolationRate);
    return again.sort(isKept ? byScore : byFallback);
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
    // What is bought at a price of its own is bought as far as it pays.
    if (violationPrice > 0) return null;
    const bolder = pool
      .filter(
        ({ accuracy, violationRate }) =>
          accuracy > best.accuracy && violationRate > maxViolationRate,
      )
      .sort((a, b) => steepness(best, b) - steepness(best, a))[0];
    if (bolder === undefined || best.violationRate >= maxViolationRate) return null;
    let found: FoundPolicy | null = null;
    let score = best.score;
    let [low, high] = [0, 1];
    let share =
      (maxViolationRate - best.violationRate) / (bolder.violationRate - best.violationRate);
    for (let tried = 0; tried < MIXTURE_TRIES; tried++) {
      const mixture = { candidate: bolder.candidate, share };
      const judged = this.#judge(best.candidate, this.#final, mixture);
      if (judged.score > score && (judged.isAllowed || !best.isAllowed)) {
        score = judged.score;
        found = this.#found(best.candidate, mixture);
      }
      if (judged.isAllowed) low = share;
      else high = share;
      share = (low + high) / 2;
    }
    return found;
  }

  /** Solutions for several prices of a violation, the best first. */
  #solveFastServer(): Judged[] {
    const problem = this.#problem;
    const server = new FastServer(asOneClass(problem));
    const timeWorth = CREDIT * problem.workerCount * this.#bound.price;
    const mostCredit = MOST_CREDIT * this.#bound.accuracy * problem.arrivalsPerMs;
    const credits = [0, Math.min(timeWorth, mostCredit)];
    const judged: Judged[] = [];
    const firstPrice = Math.max(FIRST_PRICE, problem.violationPrice);
    const first = this.#solved(server, firstPrice, credits[0] ?? 0);
    let [best] = first;
    judged.push(...first);
    if (this.#isAtBound(best)) return judged;
    let credit = 0;
    if (problem.workerCount > 1 && timeWorth > 0) {
      const others = this.#solved(server, firstPrice, credits[1] ?? 0);
      judged.push(...others);
      if (others[0].score > best.score) [best, credit] = [others[0], credits[1] ?? 0];
    }
    // Downhill in steps, turning once where the first step was the wrong way.
    let price = firstPrice;
    let factor = best.isAllowed ? 1 / PRICE_STEP : PRICE_STEP;
    for (let tried = 0; !this.#isAtBound(best); tried++) {
      if (tried >= (best.isAllowed ? MOST_PRICES : MOST_PRICES_TO_HOLD)) break;
      const solved = this.#solved(server, price * factor, credit);
      const [next] = [...solved].sort(byScore);
      judged.push(...solved);
      if (next !== undefined && next.score > best.score) {
        best = next;
        price *= factor;
      } else if (price === firstPrice && tried === 0) factor = 1 / factor;
      else break;
    }
    return judged.sort(byScore);
  }

  /** A solution as it is, and more willing to wait. */
  #solved(server: FastServer, violationPrice: number, credit: number): [Judged, ...Judged[]] {
    server.solve(violationPrice, credit);
    const solution = server.solution();
    const restored = (): FastServer => {
      server.restore(solution);
      return server;
    };
    const looks: (Look | undefined)[] = [];
    const judged = PATIENCES.map((patience) => {
      const decide: Decide = (queued, slackMs, cell) => {
        looks[cell] ??= restored().look(queued, slackMs);
        const { chosen, waitAdvantage } = looks[cell];
        return waitAdvantage + patience > 0 ? NO_ACTION : chosen;
      };
      const worths: Candidate["worths"] = (queued, slackMs) => restored().worths(queued, slackMs);
      return this.#judge(this.#candidate("fast-server", decide, worths), LOOK);
    });
    return judged as [Judged, ...Judged[]];
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
    const score = accuracy - cost;
    return { candidate, accuracy, violationRate, isAllowed: excess === 0, score };
  }

  /** The violations that a sample may show, so that the true rate is hardly above the ceiling. */
  #allowed(outcome: PooledOutcome): number {
    const { maxViolationRate } = this.#problem;
    const error = Math.sqrt((maxViolationRate * clustering(outcome)) / outcome.queries);
    return Math.max(maxViolationRate / 2, maxViolationRate - SAFETY * error);
  }
}

/**
 * Variance over mean of the violations in blocks of queries, at least 1: late queries come in
 * clusters.
 */
export function clustering({
  violations,
  violationsByBlock,
}: Pick<PooledOutcome, "violations" | "violationsByBlock">): number {
  if (violations === 0) return 1;
  const mean = violations / BLOCKS;
  const squares = violationsByBlock.reduce((sum, count) => sum + (count - mean) ** 2, 0);
  return Math.max(1, squares / (BLOCKS - 1) / mean);
}

/**
 * Accuracy that a violation costs where the ceiling cannot be kept: enough to serve rather than
 * drop, not to serve badly at any price.
 */
const FALLBACK_PRICE = 1;

function byFallback(a: Judged, b: Judged): number {
  const worth = ({ accuracy, violationRate }: Judged): number =>
    accuracy - FALLBACK_PRICE * violationRate;
  return worth(b) - worth(a);
}

/** Those that decided as others did are not judged again. */
function unlikeOnes(judged: readonly Judged[]): Judged[] {
  const byOutcome = new Map(
    judged.map((one) => [`${one.accuracy} ${one.violationRate}`, one] as const).reverse(),
  );
  return [...byOutcome.values()].reverse();
}

function byScore(a: Judged, b: Judged): number {
  return b.score - a.score;
}

/** Accuracy gained per violation. */
function steepness(safe: Judged, bold: Judged): number {
  return (bold.accuracy - safe.accuracy) / (bold.violationRate - safe.violationRate);
}

/**
 * Searches the largest load that keeps the ceiling on violations: the same search for simulations
 * and for running servers. Short trials find about where it lies; then two loads around it, one
 * that holds and one that fails, are proven by fresh requests.
 */
import type { Window } from "../processes/level-request.ts";
import { rateOf, sumOf, type Verdict, verdictOf } from "./evidence.ts";

export interface SearchOptions {
  /** Load of the first trial. */
  readonly startQps: number;
  /** Load that is known to fail; Infinity for none. */
  readonly belowQps: number;
  /** Ceiling on violations, in (0, 1). */
  readonly limit: number;
  /** Probability that both stated loads are right, in (0, 1). */
  readonly confidence: number;
  /** Ratio of a proven load to the estimate, above 1. */
  readonly step: number;
  /** Trials after which a load is judged first, and at last; in between after each doubling. */
  readonly trials: readonly [least: number, most: number];
}

/** Asks for the requests of one load. */
export interface Trial {
  readonly loadQps: number;
  /** True while the capacity is only looked for. */
  readonly isBrief: boolean;
}

export interface TriedLoad {
  readonly loadQps: number;
  readonly windows: readonly Window[];
}

export interface Capacity {
  /** Largest load that is proven to hold; null for none. */
  readonly holdsQps: number | null;
  /** Smallest load that is proven to fail; null for none. */
  readonly failsQps: number | null;
  /** Load at which violations reach the ceiling, by interpolation; null if it was not bracketed. */
  readonly estimateQps: number | null;
  /** Lowest load at which delays of the load generator alone break the ceiling; null for none. */
  readonly generatorQps: number | null;
  readonly queries: number;
  /** Ascending. */
  readonly tried: readonly TriedLoad[];
}

/** A search, which is sent the windows of each trial; null ends it with what is known. */
export type Search = Generator<Trial, Capacity, readonly Window[] | null>;

/** Loads beyond the first are tried up to this factor from it, in ratios that grow. */
const MOST_FACTOR = 1024;
const FIRST_GROWTH = 1.25;
const MOST_GROWTH = 4;
/** Steps of each move of an end away from the estimate. */
const MOVES = [1, 1, 2, 3, 4, 4, 4, 4];
const DIGITS = 4;

export function* searchCapacity(options: SearchOptions): Search {
  const tried: TriedLoad[] = [];
  const ends = { holdsQps: null, failsQps: null };
  const known = yield* bracketed(options, tried);
  const proven = known === null ? ends : yield* provenAround(known, options, tried);
  const { limit } = options;
  const delayed = tried.filter(({ windows }) => isDelayed(windows, limit));
  return {
    ...proven,
    estimateQps: within(proven, crossing(tried, limit) ?? known),
    generatorQps: delayed.length === 0 ? null : Math.min(...delayed.map((one) => one.loadQps)),
    queries: tried.reduce((sum, { windows }) => sum + sumOf(windows, "queries"), 0),
    tried: tried.sort((a, b) => a.loadQps - b.loadQps),
  };
}

type Part<T> = Generator<Trial, T, readonly Window[] | null>;

/** Returns about the capacity; null if it was not bracketed. */
function* bracketed(
  { startQps, belowQps, limit, step }: SearchOptions,
  tried: TriedLoad[],
): Part<number | null> {
  let [below, above] = [0, belowQps];
  let growth = FIRST_GROWTH;
  let loadQps = rounded(startQps);
  while (above > below * step) {
    if (loadQps > startQps * MOST_FACTOR || loadQps < startQps / MOST_FACTOR) return null;
    const windows = yield { loadQps, isBrief: true };
    if (windows === null) return null;
    record(tried, loadQps, windows);
    if (rateOf(windows, "late") > limit) above = loadQps;
    else below = loadQps;
    const isOpen = below === 0 || above === Number.POSITIVE_INFINITY;
    if (!isOpen) loadQps = rounded(Math.sqrt(below * above));
    else {
      loadQps = rounded(below === 0 ? above / growth : below * growth);
      growth = Math.min(MOST_GROWTH, growth ** 2);
    }
  }
  return crossing(tried, limit) ?? rounded(Math.sqrt(below * above));
}

type Ends = Pick<Capacity, "holdsQps" | "failsQps">;

/** Alternates between the ends, so that the trials of each are spread over time. */
function* provenAround(aboutQps: number, options: SearchOptions, tried: TriedLoad[]): Part<Ends> {
  const { step } = options;
  const ends = [
    new End("holds", aboutQps, 1 / step, options),
    new End("fails", aboutQps, step, options),
  ] as const;
  const stated = () => ({ holdsQps: ends[0].provenQps, failsQps: ends[1].provenQps });
  while (ends.some((end) => end.isOpen)) {
    for (const end of ends) {
      if (!end.isOpen) continue;
      const { loadQps } = end;
      const windows = yield { loadQps, isBrief: false };
      if (windows === null) {
        // The load that fails first limits the one that holds: they never contradict each other.
        const fails = ends[1].firstOf(tried, ends[0].provenQps ?? 0);
        ends[0].judgeLast(tried.filter(({ loadQps }) => loadQps < (fails ?? loadQps + 1)));
        ends[1].judgeLast(tried.filter(({ loadQps }) => loadQps > (ends[0].provenQps ?? 0)));
        return stated();
      }
      record(tried, loadQps, windows);
      end.judge(windows);
    }
  }
  return stated();
}

/** A load to prove, which moves away from the capacity until it is. */
class End {
  loadQps: number;
  isOpen = true;
  provenQps: number | null = null;
  readonly #wanted: Verdict;
  readonly #ratio: number;
  readonly #options: SearchOptions;
  /** Accepted probability of a wrong verdict at the load. */
  #risk: number;
  #trials: (readonly Window[])[] = [];
  #moves = 0;

  /** @param ratio of a step. */
  constructor(wanted: Verdict, aboutQps: number, ratio: number, options: SearchOptions) {
    this.loadQps = rounded(aboutQps * ratio);
    this.#wanted = wanted;
    this.#ratio = ratio;
    this.#options = options;
    const [least, most] = options.trials;
    // Bonferroni over both ends and all verdicts at one load; half as much after each move.
    this.#risk = (1 - options.confidence) / (4 * (2 + Math.log2(most / least)));
  }

  judge(windows: readonly Window[]): void {
    const [least, most] = this.#options.trials;
    this.#trials.push(windows);
    const count = this.#trials.length;
    if (count < least || !Number.isInteger(Math.log2(count / least))) return;
    const known = this.#trials.flat();
    // More of the same would have to be enough.
    const all = Array.from({ length: most / count }, () => known).flat();
    if (this.#proves(known)) this.#close();
    else if (count === most || !this.#proves(all)) this.#move();
  }

  /** Takes the nearest load that is proven by all of its requests, brief trials included. */
  judgeLast(tried: readonly TriedLoad[]): void {
    const found = this.isOpen ? this.firstOf(tried, 0) : null;
    if (found === null) return;
    this.loadQps = found;
    this.#close();
  }

  /** Returns the proven load above `fromQps` that is nearest to the capacity; null without one. */
  firstOf(tried: readonly TriedLoad[], fromQps: number): number | null {
    if (!this.isOpen) return this.provenQps;
    const direction = this.#wanted === "holds" ? -1 : 1;
    const nearest = tried.toSorted((a, b) => direction * (a.loadQps - b.loadQps));
    const { limit, confidence } = this.#options;
    // Bonferroni over both ends and all loads.
    const risk = (1 - confidence) / (2 * tried.length);
    const found = nearest.find(({ loadQps, windows }) => {
      return loadQps > fromQps && verdictOf(windows, limit, risk) === this.#wanted;
    });
    return found?.loadQps ?? null;
  }

  #proves(windows: readonly Window[]): boolean {
    return verdictOf(windows, this.#options.limit, this.#risk) === this.#wanted;
  }

  #close(): void {
    this.provenQps = this.loadQps;
    this.isOpen = false;
  }

  #move(): void {
    this.#trials = [];
    this.#risk /= 2;
    const steps = MOVES[this.#moves++] ?? 0;
    for (let step = 0; step < steps; step++) this.loadQps *= this.#ratio;
    this.loadQps = rounded(this.loadQps);
    this.isOpen = steps > 0;
  }
}

function record(tried: TriedLoad[], loadQps: number, windows: readonly Window[]): void {
  const at = tried.findIndex((one) => one.loadQps === loadQps);
  if (at < 0) tried.push({ loadQps, windows });
  else tried[at] = { loadQps, windows: [...(tried[at]?.windows ?? []), ...windows] };
}

/** Requests were late because they were sent late. */
function isDelayed(windows: readonly Window[], limit: number): boolean {
  return rateOf(windows, "late") > limit && rateOf(windows, "serverLate") <= limit;
}

/**
 * Interpolates the load at which violations reach the limit, between the last loads below and above
 * it, of rates that are made to ascend. Null without loads on both sides.
 */
function crossing(tried: readonly TriedLoad[], limit: number): number | null {
  const points = ascending(tried);
  const above = points.findIndex(({ rate }) => rate > limit);
  const [a, b] = [points[above - 1], points[above]];
  if (a === undefined || b === undefined) return null;
  // Rates grow about exponentially with the load.
  const [low, middle, high] = [a.rate, limit, b.rate].map((rate) => Math.log(rate + limit / 10));
  const share = ((middle ?? 0) - (low ?? 0)) / ((high ?? 0) - (low ?? 0));
  return rounded(a.loadQps + (b.loadQps - a.loadQps) * share);
}

interface Point {
  readonly loadQps: number;
  readonly late: number;
  readonly queries: number;
  readonly rate: number;
}

/** Pools loads whose rates descend. Source: Barlow et al., "Order Restrictions", 1972. */
function ascending(tried: readonly TriedLoad[]): Point[] {
  const points: Point[] = [];
  for (const { loadQps, windows } of tried.toSorted((a, b) => a.loadQps - b.loadQps)) {
    const [late, queries] = [sumOf(windows, "late"), sumOf(windows, "queries")];
    let point = { loadQps, late, queries, rate: late / Math.max(1, queries) };
    for (let last = points.at(-1); last !== undefined && last.rate > point.rate; ) {
      const both = { late: last.late + point.late, queries: last.queries + point.queries };
      const middle = Math.sqrt(last.loadQps * point.loadQps);
      point = { ...both, loadQps: middle, rate: both.late / both.queries };
      points.pop();
      last = points.at(-1);
    }
    points.push(point);
  }
  return points;
}

function within({ holdsQps, failsQps }: Ends, estimateQps: number | null): number | null {
  if (estimateQps === null) return null;
  return Math.min(failsQps ?? estimateQps, Math.max(holdsQps ?? estimateQps, estimateQps));
}

function rounded(loadQps: number): number {
  return Number(loadQps.toPrecision(DIGITS));
}

/**
 * Log of the search of one branch, so that another search can continue as if it had searched the
 * branch.
 *
 * A search that begins with a cheaper plan tries a subset of what one with a more expensive plan
 * tries: configurations that may cost less than the best plan so far. So the log has the work by
 * least cost, between one better plan and the next.
 */
import type { Configuration } from "../../../../graph/served-tasks.ts";

/** Work between two better plans. */
interface Stretch {
  /** Least costs of what was tried, millionths per hour, ascending. */
  readonly least: readonly number[];
  /** Tasks that were served, by least cost. */
  readonly evaluations: readonly number[];
  /** Queries of them, by least cost. */
  readonly queries: readonly number[];
  /** The plan that ended it; null at the end of the branch. */
  readonly found: FoundPlan | null;
}

interface FoundPlan {
  readonly cost: number;
  readonly configuration: Configuration;
}

interface BranchLog {
  /** Cost of the best plan that was known before; Infinity for none. */
  readonly enteredCost: number;
  readonly stretches: readonly Stretch[];
}

interface Tried {
  evaluations: number;
  queries: number;
}

/** Writes a log while a branch is searched. */
export class BranchRecorder {
  readonly #enteredCost: number;
  readonly #stretches: Stretch[] = [];
  #tried = new Map<number, Tried>();

  constructor(enteredCost: number) {
    this.#enteredCost = enteredCost;
  }

  tried(least: number, evaluations: number, queries: number): void {
    const before = this.#tried.get(least);
    if (before === undefined) this.#tried.set(least, { evaluations, queries });
    else {
      before.evaluations += evaluations;
      before.queries += queries;
    }
  }

  found(cost: number, configuration: Configuration): void {
    this.#end({ cost, configuration });
  }

  /** Returns the log of a branch that was searched to its end. */
  log(): BranchLog {
    this.#end(null);
    return { enteredCost: this.#enteredCost, stretches: this.#stretches };
  }

  #end(found: FoundPlan | null): void {
    const ascending = [...this.#tried].sort(([a], [b]) => a - b);
    this.#stretches.push({
      least: ascending.map(([least]) => least),
      evaluations: ascending.map(([, { evaluations }]) => evaluations),
      queries: ascending.map(([, { queries }]) => queries),
      found,
    });
    this.#tried = new Map();
  }
}

/** Result of replaying a branch. */
interface Replayed {
  readonly evaluations: number;
  readonly queries: number;
  /** The last plan that is better than the initial one; null for none. */
  readonly found: FoundPlan | null;
}

/**
 * @param bestCost of the best plan that is known before, Infinity for none.
 * @returns null if the log began with a cheaper plan and cannot be replayed.
 */
export function replayed({ enteredCost, stretches }: BranchLog, bestCost: number): Replayed | null {
  let evaluations = 0;
  let queries = 0;
  let best: FoundPlan | null = null;
  let cost = bestCost;
  let loggedCost = enteredCost;
  for (const { least, found, ...tried } of stretches) {
    if (cost > loggedCost) return null;
    for (const [index, one] of least.entries()) {
      if (one >= cost) break;
      evaluations += tried.evaluations[index] ?? 0;
      queries += tried.queries[index] ?? 0;
    }
    if (found === null) continue;
    loggedCost = found.cost;
    if (found.cost >= cost) continue;
    cost = found.cost;
    best = found;
  }
  return { evaluations, queries, found: best };
}

/** Logs come from parts, whose digests ensure that they are unchanged. */
export function isBranchLog(value: object | undefined): value is BranchLog {
  return value !== undefined && "enteredCost" in value && "stretches" in value;
}

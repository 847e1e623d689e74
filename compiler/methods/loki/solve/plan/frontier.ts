/** Keeps the choices for the rest of a pipeline that are best in some case. */

/** The slots of a choice, as a tree. */
export interface Part {
  /** -1 for a join of branches, and after a leaf. */
  readonly slot: number;
  readonly first: Part | null;
  readonly second: Part | null;
}

/**
 * Choices that are offered in the order of falling start, less those that are best at no start and
 * ratio. A choice is worth ratio · value - cost.
 */
export class Frontier {
  /** Latest time to start, ms from the start of the path. */
  readonly startMs: number[] = [];
  /** Weighted accuracy of the leaves, as if all steps before were always right. */
  readonly value: number[] = [];
  /** Price of one query that arrives, including all queries that follow from it. */
  readonly cost: number[] = [];
  readonly parts: Part[] = [];
  /** Points that are currently best at some ratio, of rising value. */
  readonly #hull: number[] = [];
  readonly #low: number;
  readonly #high: number;

  /**
   * @param low lowest possible ratio.
   * @param high highest one.
   */
  constructor(low: number, high: number) {
    this.#low = low;
    this.#high = high;
  }

  /** @returns whether it is kept. */
  offer(
    startMs: number,
    value: number,
    cost: number,
    slot: number,
    first: Part | null,
    second: Part | null,
  ): boolean {
    const hull = this.#hull;
    let place = 0;
    while (place < hull.length && (this.value[hull[place] ?? 0] ?? 0) <= value) place++;
    const beside = hull[place === 0 ? 0 : place - 1];
    if (beside !== undefined) {
      const ratio = this.#crossing(place - 1, place);
      const gain = value - (this.value[beside] ?? 0);
      if (!(gain * ratio > cost - (this.cost[beside] ?? 0))) return false;
    }
    const own = this.parts.length;
    this.startMs.push(startMs);
    this.value.push(value);
    this.cost.push(cost);
    this.parts.push({ slot, first, second });
    hull.splice(place, 0, own);
    while (place > 0 && this.#isBeaten(place - 1, place)) hull.splice(--place, 1);
    while (place + 1 < hull.length && this.#isBeaten(place + 1, place)) hull.splice(place + 1, 1);
    return true;
  }

  /**
   * Choices for several branches together that follow one variant.
   * @param fanouts queries that the variant sends to each branch.
   */
  joined(branches: readonly Frontier[], accuracy: number, fanouts: readonly number[]): Frontier {
    const [first, ...others] = branches.map((branch, at) => {
      const scaled = new Frontier(this.#low, this.#high);
      for (const [place, { slot, first, second }] of branch.parts.entries()) {
        const value = accuracy * (branch.value[place] ?? 0);
        const cost = (fanouts[at] ?? 0) * (branch.cost[place] ?? 0);
        scaled.offer(branch.startMs[place] ?? 0, value, cost, slot, first, second);
      }
      return scaled;
    });
    if (first === undefined) throw new RangeError("no branches to join");
    return others.reduce((before, next) => before.#joinedWith(next), first);
  }

  #joinedWith(other: Frontier): Frontier {
    const [low, high] = [this.#low, this.#high];
    const both = new Frontier(low, high);
    const mine = { all: this as Frontier, seen: new Frontier(low, high), at: 0 };
    const theirs = { all: other, seen: new Frontier(low, high), at: 0 };
    for (;;) {
      const isMine = mine.all.#startAt(mine.at) >= theirs.all.#startAt(theirs.at);
      const [own, beside] = isMine ? [mine, theirs] : [theirs, mine];
      const { all, seen } = own;
      const part = all.parts[own.at];
      if (part === undefined) return both;
      const startMs = all.#startAt(own.at);
      const value = all.value[own.at] ?? 0;
      const cost = all.cost[own.at] ?? 0;
      own.at++;
      if (!seen.offer(startMs, value, cost, part.slot, part.first, part.second)) continue;
      for (const place of beside.seen.#hull) {
        const partner = beside.seen.parts[place] ?? null;
        const valueOfBoth = value + (beside.seen.value[place] ?? 0);
        const costOfBoth = cost + (beside.seen.cost[place] ?? 0);
        both.offer(startMs, valueOfBoth, costOfBoth, -1, part, partner);
      }
    }
  }

  /** -Infinity after the last one. */
  #startAt(place: number): number {
    return place < this.startMs.length ? (this.startMs[place] ?? 0) : Number.NEGATIVE_INFINITY;
  }

  /** Ratio from which on the second of two neighbours of the hull is better. */
  #crossing(one: number, other: number): number {
    const [before, after] = [this.#hull[one], this.#hull[other]];
    if (before === undefined) return this.#low;
    if (after === undefined) return this.#high;
    const cost = (this.cost[after] ?? 0) - (this.cost[before] ?? 0);
    return cost / ((this.value[after] ?? 0) - (this.value[before] ?? 0));
  }

  /** Whether a neighbour of a new point is no longer best anywhere. */
  #isBeaten(place: number, by: number): boolean {
    const hull = this.#hull;
    if (this.value[hull[place] ?? 0] === this.value[hull[by] ?? 0]) return true;
    return !(this.#crossing(place - 1, place) < this.#crossing(place, place + 1));
  }
}

/** A deadline queue for queries with few SLOs: those of one SLO are first in, first out. */
export class EarliestFirst {
  length = 0;
  readonly #sloMs: readonly number[];
  readonly #arrivalMs: Float64Array;
  readonly #rings: readonly Ring[];

  /**
   * @param sloMs of each class.
   * @param arrivalMs of each query, ascending.
   */
  constructor(sloMs: readonly number[], arrivalMs: Float64Array, capacity: number) {
    this.#sloMs = sloMs;
    this.#arrivalMs = arrivalMs;
    this.#rings = sloMs.map(() => new Ring(Math.min(capacity, arrivalMs.length)));
  }

  push(query: number, queryClass: number): void {
    this.#rings[queryClass]!.push(query);
    this.length++;
  }

  earliestDeadlineMs(): number {
    return this.#firstDeadlineMs(this.earliestClass());
  }

  /** Ties of deadlines go to the class whose query came first. */
  earliestClass(): number {
    const rings = this.#rings;
    if (rings.length === 1) return 0;
    let earliest = -1;
    for (let one = 0; one < rings.length; one++) {
      if (rings[one]!.length > 0 && (earliest < 0 || this.#isBefore(one, earliest))) earliest = one;
    }
    return earliest;
  }

  take(): number {
    this.length--;
    return this.#rings[this.earliestClass()]!.take();
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#firstDeadlineMs(one), this.#firstDeadlineMs(other)];
    return a < b || (a === b && this.#rings[one]!.first() < this.#rings[other]!.first());
  }

  #firstDeadlineMs(one: number): number {
    return this.#arrivalMs[this.#rings[one]!.first()]! + this.#sloMs[one]!;
  }
}

/** First in, first out, in a fixed memory. */
class Ring {
  length = 0;
  readonly #items: Uint32Array;
  #head = 0;

  constructor(capacity: number) {
    this.#items = new Uint32Array(capacity);
  }

  first(): number {
    return this.#items[this.#head]!;
  }

  push(item: number): void {
    const capacity = this.#items.length;
    const tail = this.#head + this.length;
    this.#items[tail < capacity ? tail : tail - capacity] = item;
    this.length++;
  }

  take(): number {
    const item = this.first();
    this.#head = this.#head + 1 === this.#items.length ? 0 : this.#head + 1;
    this.length--;
    return item;
  }
}

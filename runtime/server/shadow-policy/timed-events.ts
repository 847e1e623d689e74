/** What is to happen to workers that are not there, in the order of its times. */

export interface TimedEvent {
  readonly atMs: number;
  readonly kind: "done" | "model-ready" | "resized";
  readonly worker: number;
  /** Of its kind and worker: an event of an earlier one does not come to be. */
  readonly generation: number;
}

/** A binary heap; of equal times those that were added first come first. */
export class TimedEvents {
  readonly #heap: (TimedEvent & { readonly order: number })[] = [];
  #added = 0;

  /** Infinite where nothing is to happen. */
  get nextMs(): number {
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  add(event: TimedEvent): void {
    const heap = this.#heap;
    heap.push({ ...event, order: this.#added++ });
    let at = heap.length - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#isBefore(at, above)) return;
      this.#swap(at, above);
      at = above;
    }
  }

  /** Takes the next one out; undefined where nothing is to happen. */
  take(): TimedEvent | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    this.#sink();
    return first;
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const lower = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#isBefore(lower, at)) return;
      this.#swap(at, lower);
      at = lower;
    }
  }

  /** Whether there is one at a place and it comes before that at another. */
  #isBefore(at: number, other: number): boolean {
    const one = this.#heap[at];
    const two = this.#heap[other];
    if (one === undefined || two === undefined) return false;
    return one.atMs < two.atMs || (one.atMs === two.atMs && one.order < two.order);
  }

  #swap(at: number, other: number): void {
    const one = this.#heap[at];
    const two = this.#heap[other];
    if (one === undefined || two === undefined) return;
    this.#heap[at] = two;
    this.#heap[other] = one;
  }
}

/**
 * Waiting nodes of a search, highest bound first; of equal ones the last added, which is the
 * deepest. A binary heap.
 */
export class OpenNodes<T> {
  readonly #heap: { readonly bound: number; readonly order: number; readonly node: T }[] = [];
  #pushed = 0;

  get size(): number {
    return this.#heap.length;
  }

  highest(): number | null {
    return this.#heap[0]?.bound ?? null;
  }

  push(bound: number, node: T): void {
    this.#pushed++;
    this.#heap.push({ bound, order: this.#pushed, node });
    let at = this.#heap.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): T | null {
    const top = this.#heap[0];
    if (top === undefined) return null;
    this.#swap(0, this.#heap.length - 1);
    this.#heap.pop();
    let at = 0;
    for (;;) {
      let next = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, next)) next = child;
      }
      if (next === at) return top.node;
      this.#swap(at, next);
      at = next;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const left = this.#heap[one];
    const right = this.#heap[other];
    if (left === undefined || right === undefined) return false;
    return left.bound > right.bound || (left.bound === right.bound && left.order > right.order);
  }

  #swap(one: number, other: number): void {
    const left = this.#heap[one];
    const right = this.#heap[other];
    if (left === undefined || right === undefined) return;
    this.#heap[one] = right;
    this.#heap[other] = left;
  }
}

/**
 * Queries on their way between servers. All take the same time, so they arrive in the order they
 * were sent.
 */
export class DeliveryRing {
  #timeMs = new Float64Array(1024);
  #query = new Uint32Array(1024);
  #head = 0;
  #length = 0;

  /** Time of the next arrival; Infinity if none is on its way. */
  get nextMs(): number {
    if (this.#length === 0) return Number.POSITIVE_INFINITY;
    return this.#timeMs[this.#head] ?? Number.NaN;
  }

  push(timeMs: number, query: number): void {
    if (this.#length === this.#timeMs.length) this.#grow();
    const tail = (this.#head + this.#length) & (this.#timeMs.length - 1);
    this.#timeMs[tail] = timeMs;
    this.#query[tail] = query;
    this.#length++;
  }

  pop(): number {
    const query = this.#query[this.#head] ?? 0;
    this.#head = (this.#head + 1) & (this.#timeMs.length - 1);
    this.#length--;
    return query;
  }

  #grow(): void {
    const timeMs = new Float64Array(2 * this.#timeMs.length);
    const query = new Uint32Array(2 * this.#timeMs.length);
    timeMs.set(this.#timeMs.subarray(this.#head));
    timeMs.set(this.#timeMs.subarray(0, this.#head), this.#timeMs.length - this.#head);
    query.set(this.#query.subarray(this.#head));
    query.set(this.#query.subarray(0, this.#head), this.#query.length - this.#head);
    this.#timeMs = timeMs;
    this.#query = query;
    this.#head = 0;
  }
}

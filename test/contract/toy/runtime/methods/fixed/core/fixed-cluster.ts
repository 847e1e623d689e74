/** Workers that take what waits as soon as they are free: the oldest queries, a batch at most. */
export interface FixedStart {
  readonly worker: number;
  readonly queries: readonly number[];
}

export class FixedCluster {
  readonly #batch: number;
  readonly #idle = new Set<number>();
  readonly #waiting: number[] = [];

  /** @param batch queries at a time, at most. */
  constructor(batch: number) {
    this.#batch = batch;
  }

  onArrival(query: number): void {
    this.#waiting.push(query);
  }

  /** A worker has come up, or is done. */
  onFree(worker: number): void {
    this.#idle.add(worker);
  }

  onLost(worker: number): void {
    this.#idle.delete(worker);
  }

  /** What is to be started next, null for nothing. */
  next(): FixedStart | null {
    const [worker] = this.#idle;
    if (worker === undefined || this.#waiting.length === 0) return null;
    this.#idle.delete(worker);
    return { worker, queries: this.#waiting.splice(0, this.#batch) };
  }
}

/**
 * Requests that are under way, in slots that are used again. Slots are taken from the lowest up, so
 * that memory of those never used is never touched.
 */
export class RequestSlots {
  openCount = 0;
  /** [capacity]: number of the request that has the slot. */
  readonly request: Uint32Array;
  /**
   * [capacity]: sum of the accuracies of the tasks that it has ended at, and how many these are.
   */
  readonly accuracySum: Float64Array;
  readonly endCount: Uint16Array;
  readonly #capacity: number;
  readonly #free: Uint32Array;
  #freeCount = 0;
  #usedCount = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.request = new Uint32Array(capacity);
    this.accuracySum = new Float64Array(capacity);
    this.endCount = new Uint16Array(capacity);
    this.#free = new Uint32Array(capacity);
  }

  get isFull(): boolean {
    return this.openCount === this.#capacity;
  }

  /** Takes a slot; there has to be one. */
  open(request: number): number {
    const slot = this.#freeCount > 0 ? (this.#free[--this.#freeCount] ?? 0) : this.#usedCount++;
    this.openCount++;
    this.request[slot] = request;
    this.accuracySum[slot] = 0;
    this.endCount[slot] = 0;
    return slot;
  }

  close(slot: number): void {
    this.#free[this.#freeCount++] = slot;
    this.openCount--;
  }

  /** The request goes nowhere from a task that it was served at. */
  endAt(slot: number, accuracy: number): void {
    this.accuracySum[slot] = (this.accuracySum[slot] ?? 0) + accuracy;
    this.endCount[slot] = (this.endCount[slot] ?? 0) + 1;
  }

  /** Mean over the tasks that it has ended at; NaN for a request that went nowhere. */
  accuracy(slot: number): number {
    return (this.accuracySum[slot] ?? Number.NaN) / (this.endCount[slot] ?? 0);
  }
}

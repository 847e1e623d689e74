/** Outcomes by the second in which requests arrived. */
interface TimelineRow {
  /** Requests that arrived in the second, and those of them that were late or dropped. */
  readonly requests: number;
  readonly violations: number;
  /** State of the cluster at the end of the second, in the order of observation. */
  readonly held: readonly number[];
}

/** Outcomes by the second in which requests arrived, and the cluster at the end of each. */
export class Timeline {
  readonly #requests: Float64Array;
  readonly #violations: Float64Array;
  /** Per value, per second. */
  readonly #held: readonly Float64Array[];
  /** Second of the last change; its values hold until the next. */
  #second = 0;

  /** @param heldCount number of values of the cluster. */
  constructor(seconds: number, heldCount: number) {
    this.#requests = new Float64Array(seconds);
    this.#violations = new Float64Array(seconds);
    this.#held = Array.from({ length: heldCount }, () => new Float64Array(seconds));
  }

  countRequest(arrivalMs: number): void {
    addOne(this.#requests, arrivalMs);
  }

  countViolation(arrivalMs: number): void {
    addOne(this.#violations, arrivalMs);
  }

  /** Records the state of the cluster from now on. Times do not go back. */
  observe(nowMs: number, held: readonly number[]): void {
    const second = Math.floor(nowMs / 1000);
    if (second >= this.#requests.length) return;
    this.#stayUntil(second);
    for (const [index, values] of this.#held.entries()) values[second] = held[index] ?? Number.NaN;
    this.#second = second;
  }

  rows(): TimelineRow[] {
    this.#stayUntil(this.#requests.length);
    return Array.from(this.#requests, (requests, second) => ({
      requests,
      violations: this.#violations[second] ?? 0,
      held: this.#held.map((values) => values[second] ?? 0),
    }));
  }

  #stayUntil(second: number): void {
    for (const values of this.#held) {
      values.fill(values[this.#second] ?? 0, this.#second + 1, second);
    }
  }
}

function addOne(counts: Float64Array, arrivalMs: number): void {
  const second = Math.floor(arrivalMs / 1000);
  counts[second] = (counts[second] ?? Number.NaN) + 1;
}

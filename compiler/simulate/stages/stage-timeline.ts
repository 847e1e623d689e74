/** What happened in one second. */
export interface StageTimelineSecond {
  /** Requests that came. */
  readonly requests: number;
  /** Those of them that were late or dropped. */
  readonly violations: number;
  /** Replicas that run or come up, at the end of the second. */
  readonly servers: number;
  /** What these cost. */
  readonly costPerHour: number;
  /** Index of the level at the end of the second. */
  readonly level: number;
}

/** Outcomes by the second in which requests came, and the cluster at the end of each. */
export class StageTimeline {
  readonly #requests: Float64Array;
  readonly #violations: Float64Array;
  readonly #servers: Float64Array;
  readonly #costPerHour: Float64Array;
  readonly #level: Float64Array;
  /** Second of the last change, whose values hold until the next. */
  #second = 0;

  constructor(seconds: number) {
    this.#requests = new Float64Array(seconds);
    this.#violations = new Float64Array(seconds);
    this.#servers = new Float64Array(seconds);
    this.#costPerHour = new Float64Array(seconds);
    this.#level = new Float64Array(seconds);
  }

  countRequest(arrivalMs: number): void {
    addOne(this.#requests, arrivalMs);
  }

  countViolation(arrivalMs: number): void {
    addOne(this.#violations, arrivalMs);
  }

  /** The cluster from now on. Times do not go back. */
  observe(nowMs: number, servers: number, costPerHour: number, level: number): void {
    const second = Math.floor(nowMs / 1000);
    if (second >= this.#requests.length) return;
    this.#stayUntil(second);
    this.#servers[second] = servers;
    this.#costPerHour[second] = costPerHour;
    this.#level[second] = level;
    this.#second = second;
  }

  seconds(): StageTimelineSecond[] {
    this.#stayUntil(this.#requests.length);
    return Array.from(this.#requests, (requests, second) => ({
      requests,
      violations: this.#violations[second] ?? 0,
      servers: this.#servers[second] ?? 0,
      costPerHour: this.#costPerHour[second] ?? 0,
      level: this.#level[second] ?? 0,
    }));
  }

  #stayUntil(second: number): void {
    for (const values of [this.#servers, this.#costPerHour, this.#level]) {
      values.fill(values[this.#second] ?? 0, this.#second + 1, second);
    }
  }
}

function addOne(counts: Float64Array, arrivalMs: number): void {
  const second = Math.floor(arrivalMs / 1000);
  counts[second] = (counts[second] ?? Number.NaN) + 1;
}

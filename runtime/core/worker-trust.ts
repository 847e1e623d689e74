/** Decides which workers are taken out because they fail batches, and how long they stay out. */

/** Consecutive batches that a worker failed and another ran, after which it is taken out. */
const MOST_FAULTS = 3;
/** Wait of a worker that is taken out a second time; it doubles each time. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** Time after which an earlier failure of a worker is forgotten. */
const MEMORY_MS = 60_000;

interface Record {
  /** Consecutive batches that it and the workers before it failed. */
  failures: number;
  /** Failures after which it is tried with an input that ran before. */
  nextTrial: number;
  /** Consecutive batches that it failed and another worker ran. */
  faults: number;
  /** Times that it was taken out or lost in a row. */
  outs: number;
  outMs: number;
  /** Whether it has run a batch since it was ready. */
  hasAnswered: boolean;
}

/**
 * Distinguishes workers that fail their batches from batches that fail on every worker. A batch
 * that one worker fails and another runs is the worker's fault. If no other runs it, an input that
 * ran before shows whether the worker or the new input is at fault.
 */
export class WorkerTrust {
  readonly #records: readonly Record[];

  constructor(workerCount: number) {
    this.#records = Array.from({ length: workerCount }, () => ({
      ...{ failures: 0, nextTrial: MOST_FAULTS, faults: 0 },
      ...{ outs: 0, outMs: Number.NEGATIVE_INFINITY, hasAnswered: false },
    }));
  }

  /** Returns how many batches a worker has failed in a row, wherever the fault lies. */
  failuresOf(worker: number): number {
    return this.#of(worker).failures;
  }

  onFailed(worker: number): void {
    this.#of(worker).failures++;
  }

  onAnswered(worker: number): void {
    const record = this.#of(worker);
    record.failures = 0;
    record.faults = 0;
    record.hasAnswered = true;
    record.nextTrial = MOST_FAULTS;
  }

  /**
   * Called when a worker failed a batch that another ran.
   * @returns whether to take the worker out: a new one at its first fault.
   */
  onFault(worker: number, nowMs: number): boolean {
    const record = this.#of(worker);
    record.faults++;
    const isReturning = !record.hasAnswered && this.#outsOf(record, nowMs) > 0;
    return record.faults >= MOST_FAULTS || isReturning;
  }

  /** Returns, after a failure, whether to try the worker with an input that ran before. */
  isOnTrial(worker: number): boolean {
    const record = this.#of(worker);
    if (record.failures < record.nextTrial) return false;
    record.nextTrial = 2 * record.failures;
    return true;
  }

  /**
   * Called when a worker is taken out, or was lost under a batch.
   * @param isTakenOut false for a lost one, which counts only if it had run no batch.
   * @returns how long it stays out once it is ready again, ms: 0 the first time.
   */
  onOut(worker: number, nowMs: number, isTakenOut: boolean): number {
    const record = this.#of(worker);
    const isFirst = !isTakenOut && record.hasAnswered;
    record.outs = isFirst ? 0 : this.#outsOf(record, nowMs) + 1;
    record.outMs = nowMs;
    record.faults = 0;
    record.nextTrial = record.failures + 1;
    record.hasAnswered = false;
    if (record.outs < 2) return 0;
    return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (record.outs - 2));
  }

  #outsOf({ outs, outMs }: Record, nowMs: number): number {
    return nowMs - outMs < MEMORY_MS ? outs : 0;
  }

  #of(worker: number): Record {
    const record = this.#records[worker];
    if (record === undefined) throw new Error("a worker has a number below their count");
    return record;
  }
}

/** Decides which workers are taken out because they fail batches, and how long they stay out. */

/** Consecutive batches that a worker failed and another ran, after which it is taken out. */
const MOST_FAULTS = 3;
/** Consecutive failed batches of all workers, after which one of them is restarted. */
const MOST_ALIKE = 8;
/** Wait of a worker that is taken out a second time; it doubles each time. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** Time after which an earlier failure of a worker is forgotten. */
const MEMORY_MS = 60_000;

interface Record {
  /** Consecutive batches that it and the workers before it failed. */
  failures: number;
  /** Consecutive batches that it failed and another worker ran. */
  faults: number;
  /** Times that it was taken out or lost in a row. */
  outs: number;
  outMs: number;
  /** Whether it has run a batch since it was ready. */
  hasAnswered: boolean;
}

/**
 * Tells workers that fail their batches from batches that fail on every worker. A batch that one
 * worker fails and another runs is the worker's fault; a batch that two fail is the fault of the
 * model or its inputs, unless every worker fails every batch: then a restarted worker shows which.
 */
export class WorkerTrust {
  readonly #records: readonly Record[];
  /** Consecutive batches that failed wherever they ran. */
  #alike = 0;
  #alikeWaitMs = FIRST_WAIT_MS;
  #nextRestartMs = Number.NEGATIVE_INFINITY;

  constructor(workerCount: number) {
    this.#records = Array.from({ length: workerCount }, () => {
      return {
        failures: 0,
        faults: 0,
        outs: 0,
        outMs: Number.NEGATIVE_INFINITY,
        hasAnswered: false,
      };
    });
  }

  /** Whether every worker fails every batch. */
  get isWidespread(): boolean {
    return this.#alike >= MOST_ALIKE;
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
    if (this.#alike === 0) return;
    this.#alike = 0;
    this.#alikeWaitMs = FIRST_WAIT_MS;
  }

  /**
   * Called when a worker failed a batch that another ran.
   * @returns whether to take the worker out: a new one at its first fault.
   */
  onFault(worker: number, nowMs: number): boolean {
    const record = this.#of(worker);
    record.faults++;
    const isOnTrial = !record.hasAnswered && this.#outsOf(record, nowMs) > 0;
    return record.faults >= MOST_FAULTS || isOnTrial;
  }

  /**
   * Called when a batch failed on every worker that tried it.
   * @returns whether to restart the worker, since no batch succeeds anywhere.
   */
  onFailedAlike(nowMs: number): boolean {
    this.#alike++;
    if (!this.isWidespread || nowMs < this.#nextRestartMs) return false;
    this.#nextRestartMs = nowMs + this.#alikeWaitMs;
    this.#alikeWaitMs = Math.min(LONGEST_WAIT_MS, 2 * this.#alikeWaitMs);
    return true;
  }

  /**
   * Called when a worker is taken out, or was lost under a batch.
   * @returns how long it stays out once it is ready again, ms: 0 the first time, and if it has
   * run batches since.
   */
  onOut(worker: number, nowMs: number): number {
    const record = this.#of(worker);
    const isFirst = record.hasAnswered && record.faults < MOST_FAULTS;
    record.outs = isFirst ? 0 : this.#outsOf(record, nowMs) + 1;
    record.outMs = nowMs;
    record.faults = 0;
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

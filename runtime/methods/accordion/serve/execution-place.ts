/** Runs stages on one worker, for one query after the other. */
import { assert } from "../../../core/assert.ts";
import { type Batch, type BatchResult, WorkerLostError } from "../../../exec/models/executor.ts";

/** Query that has a place. It is notified of its own runs only, and only while it has the place. */
export interface Tenant {
  onResult(result: BatchResult): void;
  onRefused(error: unknown): void;
  /** The run of an earlier tenant has ended. */
  onVacant(): void;
}

/**
 * One worker. A run on it cannot be interrupted: a tenant that gets the place during another's run
 * waits for its end, and the result of that run is discarded.
 */
export class ExecutionPlace {
  readonly index: number;
  readonly #execute: (batch: Batch) => Promise<BatchResult>;
  #tenant: Tenant | null = null;
  #isRunning = false;
  #isUp = false;
  /** Whether a run reported the end of the worker before the executor did. */
  #isBroken = false;
  /** Number of times that it came up. */
  #epoch = 0;

  constructor(index: number, execute: (batch: Batch) => Promise<BatchResult>) {
    this.index = index;
    this.#execute = execute;
  }

  /** Whether its worker is up, according to the executor. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Whether its tenant can run something now. */
  get isVacant(): boolean {
    return this.#isUp && !this.#isBroken && !this.#isRunning;
  }

  /** Whether something runs on it, for any tenant. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  up(): void {
    this.#isUp = true;
    this.#isBroken = false;
    this.#epoch++;
  }

  down(): void {
    this.#isUp = false;
  }

  /** The place is this tenant's from now on. */
  give(tenant: Tenant): void {
    this.#tenant = tenant;
  }

  /** Does nothing if another tenant has it already. */
  leave(tenant: Tenant): void {
    if (this.#tenant === tenant) this.#tenant = null;
  }

  run(tenant: Tenant, batch: Batch): void {
    assert(this.isVacant && this.#tenant === tenant, "a place runs one thing, its tenant's");
    this.#isRunning = true;
    const epoch = this.#epoch;
    // Inside an async function, so that an executor that throws at once rejects as well.
    const run = async () => this.#execute(batch);
    run().then(
      (result) => {
        this.#isRunning = false;
        if (this.#tenant === tenant) tenant.onResult(result);
        else this.#tenant?.onVacant();
      },
      (error: unknown) => {
        this.#isRunning = false;
        const isLost = error instanceof WorkerLostError;
        // The executor reports the loss of the worker, before or after this.
        if (isLost && epoch === this.#epoch) this.#isBroken = true;
        else if (this.#tenant !== tenant) this.#tenant?.onVacant();
        if (!isLost && this.#tenant === tenant) tenant.onRefused(error);
      },
    );
  }
}

/**
 * Workers that are kept for queues which wait for larger batches.
 *
 * Where queries of several buckets share the workers, a queue that waits until the last moment for
 * its batch would find that a later deadline of another queue has taken the worker. So each queue
 * that waits has one idle worker kept for it from the time at which it will act: others may use it
 * only for batches that end before.
 */
export class KeptWorkers {
  readonly #isKeeping: boolean;
  #count = 0;
  #fromMs = Number.POSITIVE_INFINITY;

  /** @param isKeeping false where nothing is ever kept. */
  constructor(isKeeping: boolean) {
    this.#isKeeping = isKeeping;
  }

  /** Nobody waits yet. */
  begin(): void {
    this.#count = 0;
    this.#fromMs = Number.POSITIVE_INFINITY;
  }

  /** A queue waits. @param actMs when it will act if nothing else happens. */
  keep(actMs: number): void {
    if (!this.#isKeeping) return;
    this.#count++;
    this.#fromMs = Math.min(this.#fromMs, actMs);
  }

  /** Whether all idle workers may run batches that end at any time. */
  get isFree(): boolean {
    return this.#count === 0;
  }

  /** Whether an idle worker may run a batch that ends at a time. @param idleCount at least one. */
  mayTake(idleCount: number, endMs: number): boolean {
    return idleCount > this.#count || endMs <= this.#fromMs;
  }
}

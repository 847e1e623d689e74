/** Restarts workers that ended early, after growing delays. */
import { retryDelayMs, type WorkerLimits } from "./worker-limits.ts";

/**
 * Retries after workers that ended before they were healthy. The delay grows with each consecutive
 * failure; it never gives up.
 */
export class Retries {
  readonly #limits: WorkerLimits;
  readonly #onPutOff: ((reason: string, retryMs: number) => void) | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();

  /** @param onPutOff called with every delay; if left out, a process warning is emitted. */
  constructor(limits: WorkerLimits, onPutOff?: (reason: string, retryMs: number) => void) {
    this.#limits = limits;
    this.#onPutOff = onPutOff;
  }

  /** @param failures consecutive failures, this one included. */
  later(failures: number, reason: string, retry: () => void): void {
    const retryMs = retryDelayMs(failures, this.#limits);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      retry();
    }, retryMs);
    this.#timers.add(timer);
    if (this.#onPutOff !== undefined) this.#onPutOff(reason, retryMs);
    else process.emitWarning(`a worker failed to start: ${reason}; retrying in ${retryMs} ms`);
  }

  cancel(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

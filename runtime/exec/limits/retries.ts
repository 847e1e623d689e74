/** Tries again after workers that ended early, ever later. */
import { retryDelayMs, type WorkerLimits } from "./worker-limits.ts";

/**
 * Tries again after workers that ended before they were healthy: ever later with each in a row, but
 * always.
 */
export class Retries {
  readonly #limits: WorkerLimits;
  readonly #onPutOff: ((reason: string, retryMs: number) => void) | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();

  /** @param onPutOff told of every delay; without it the process is warned. */
  constructor(limits: WorkerLimits, onPutOff?: (reason: string, retryMs: number) => void) {
    this.#limits = limits;
    this.#onPutOff = onPutOff;
  }

  /** @param failures workers in a row, at least one, this one included. */
  later(failures: number, reason: string, retry: () => void): void {
    const retryMs = retryDelayMs(failures, this.#limits);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      retry();
    }, retryMs);
    this.#timers.add(timer);
    if (this.#onPutOff !== undefined) this.#onPutOff(reason, retryMs);
    else
      process.emitWarning(`a worker failed at its start: ${reason}; another try in ${retryMs} ms`);
  }

  cancel(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

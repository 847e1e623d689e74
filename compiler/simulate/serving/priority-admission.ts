/** Admission control of the simulated server. */
import { Admission, type AdmissionOptions } from "stratagem-runtime/internal/core/admission";

/**
 * Admission by priority, for a server whose dispatcher drops queries of low priority in time: only
 * those of high priority can form a crowd, and all are rejected while there is one.
 * @see `runtime/server/applications/gate.ts`
 */
export class PriorityAdmission {
  readonly #admission: Admission;
  readonly #sloMs: number;
  /**
   * [slotCount]: queries that a query found, including itself; 0 for a query that does not count.
   */
  readonly #found: Uint32Array;
  readonly #enteredMs: Float64Array;

  constructor(options: AdmissionOptions, slotCount: number) {
    this.#admission = new Admission(options);
    this.#sloMs = options.sloMs;
    this.#found = new Uint32Array(slotCount);
    this.#enteredMs = new Float64Array(slotCount);
  }

  get isFull(): boolean {
    return !this.#admission.hasRoom();
  }

  enter(slot: number, isHigh: boolean, nowMs: number): void {
    this.#found[slot] = isHigh ? this.#admission.enter(1, nowMs) : 0;
    this.#enteredMs[slot] = nowMs;
  }

  /** Called when a query is answered, or dropped because its time is up. */
  leave(slot: number, isGivenUp: boolean, nowMs: number): void {
    const found = this.#found[slot] ?? 0;
    if (found === 0) return;
    const share = (nowMs - (this.#enteredMs[slot] ?? Number.NaN)) / this.#sloMs;
    this.#admission.leave(1, found, isGivenUp ? Math.max(1, share) : share, nowMs);
  }
}

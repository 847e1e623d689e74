/** Who is let in, as the server that is simulated decides it. */
import { Admission, type AdmissionOptions } from "stratagem-runtime/internal/core/admission";

/**
 * The door of a server whose queries of low priority are given up in time by who decides: only
 * those of high priority can be a crowd, and all are refused while there is one.
 * @see `runtime/server/applications/gate.ts`
 */
export class Door {
  readonly #admission: Admission;
  readonly #sloMs: number;
  /** [slotCount] how many queries a query found, itself included; 0 of one that does not count. */
  readonly #found: Uint32Array;
  readonly #enteredMs: Float64Array;

  constructor(options: AdmissionOptions, slotCount: number) {
    this.#admission = new Admission(options);
    this.#sloMs = options.sloMs;
    this.#found = new Uint32Array(slotCount);
    this.#enteredMs = new Float64Array(slotCount);
  }

  get isShut(): boolean {
    return !this.#admission.hasRoom();
  }

  enter(slot: number, isHigh: boolean, nowMs: number): void {
    this.#found[slot] = isHigh ? this.#admission.enter(1) : 0;
    this.#enteredMs[slot] = nowMs;
  }

  /** A query has its answer, or is given up, for which there was no time left. */
  leave(slot: number, isGivenUp: boolean, nowMs: number): void {
    const found = this.#found[slot] ?? 0;
    if (found === 0) return;
    const share = (nowMs - (this.#enteredMs[slot] ?? Number.NaN)) / this.#sloMs;
    this.#admission.leave(1, found, isGivenUp ? Math.max(1, share) : share, nowMs);
  }
}

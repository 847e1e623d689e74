/** Admission control of the simulated server. */
import type { Cluster } from "stratagem-runtime/internal/bundle/schema";
import { Admission, DEFAULT_MAX_PENDING } from "stratagem-runtime/internal/core/admission";

/**
 * Rejects requests that would be late, as the server does, of which all have the same priority or
 * those of low priority are dropped in time by the dispatcher.
 * @see `Gate` in `runtime/server/applications/application.ts`
 */
export class ServerGate {
  readonly #admission: Admission;
  readonly #sloMs: number;
  /**
   * [slotCount]: requests that a request found, including itself; 0 for one that does not count.
   */
  readonly #found: Uint32Array;
  readonly #enteredMs: Float64Array;

  constructor(cluster: Pick<Cluster, "pools">, sloMs: number, slotCount: number) {
    const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
    this.#admission = new Admission({ maxLimit: DEFAULT_MAX_PENDING, workers, sloMs });
    this.#sloMs = sloMs;
    this.#found = new Uint32Array(slotCount);
    this.#enteredMs = new Float64Array(slotCount);
  }

  get isShut(): boolean {
    return !this.#admission.hasRoom();
  }

  /** @param counts whether the request can be part of a crowd. */
  enter(slot: number, counts: boolean, nowMs: number): void {
    this.#found[slot] = counts ? this.#admission.enter(1, nowMs) : 0;
    this.#enteredMs[slot] = nowMs;
  }

  /** Called when a request is answered, or dropped because its time is up. */
  leave(slot: number, isAnswered: boolean, nowMs: number): void {
    const found = this.#found[slot] ?? 0;
    if (found === 0) return;
    const share = (nowMs - (this.#enteredMs[slot] ?? Number.NaN)) / this.#sloMs;
    this.#admission.leave(1, found, isAnswered ? share : Math.max(1, share), nowMs);
  }
}

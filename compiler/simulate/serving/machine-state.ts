/** State of a machine that is slower than its profile, or loses workers, for `simulate`. */
import { Rng } from "stratagem-runtime/internal/core/rng";
import { type SlowSpells, SlowTimes } from "./slow-times.ts";

export interface MachineState {
  /** Service times of all workers, relative to the profile. */
  readonly pace: number;
  /** Slow spells, independent per worker; null for none. */
  readonly slow: SlowSpells | null;
  /** Further factors of single workers, by index. */
  readonly workerPaces: ReadonlyMap<number, number>;
  /** Workers that are lost permanently at a time: the last ones; null for none. */
  readonly lost: { readonly workers: number; readonly atMs: number } | null;
}

export const AS_PROFILED: MachineState = {
  pace: 1,
  slow: null,
  workerPaces: new Map(),
  lost: null,
};

/** Stretches the work of workers on such a machine. */
export class MachinePaces {
  /** [workerCount] */
  readonly #factor: Float64Array;
  readonly #spells: readonly SlowTimes[];

  constructor({ pace, slow, workerPaces }: MachineState, workerCount: number, rng: Rng) {
    this.#factor = new Float64Array(workerCount).fill(pace);
    for (const [worker, own] of workerPaces) this.#factor[worker] = pace * own;
    this.#spells =
      slow === null
        ? []
        : Array.from({ length: workerCount }, (_, worker) => {
            return new SlowTimes(slow, new Rng(Math.floor(rng.nextFloat() * 2 ** 32), worker));
          });
  }

  /**
   * Returns the duration of work that begins at `fromMs`; calls for one worker must be in time
   * order.
   */
  takesMs(worker: number, fromMs: number, workMs: number): number {
    const pacedMs = workMs * (this.#factor[worker] ?? 1);
    return this.#spells[worker]?.takesMs(fromMs, pacedMs) ?? pacedMs;
  }
}

/** Returns the paces of a machine; null if all workers are as profiled. */
export function machinePaces(
  state: MachineState | undefined,
  workerCount: number,
  rng: Rng,
): MachinePaces | null {
  if (state === undefined) return null;
  const isAsProfiled = state.pace === 1 && state.slow === null && state.workerPaces.size === 0;
  return isAsProfiled ? null : new MachinePaces(state, workerCount, rng);
}

/** When an autoscaler of Kubernetes acts on what a plan wants. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { ScalerDelay } from "../../spec/application.ts";

export type { ScalerDelay };

/**
 * As Kubernetes and KEDA have them unless told otherwise: the horizontal pod autoscaler looks every
 * 15 s and asks the scaler; of KEDA with `useCachedMetrics` it sees what was polled last, every
 * 30 s.
 */
export const HPA_DELAY: ScalerDelay = { syncMs: 15_000, pollingMs: 0 };
export const KEDA_DELAY: ScalerDelay = { syncMs: 15_000, pollingMs: 30_000 };

const SCALER_STREAM = 5;

/**
 * Looks come at multiples of their intervals, from a beginning that is drawn: nobody sets the clock
 * of an autoscaler by the traffic. That it lets a tenth too few be is not counted, since the scaler
 * asks for so much more that it does not.
 */
export class ScalerClock {
  readonly #delay: ScalerDelay | null;
  readonly #pollingFromMs: number;
  readonly #syncFromMs: number;

  /** @param delay null where replicas are started at once. */
  constructor(delay: ScalerDelay | null, seed: number) {
    const rng = new Rng(seed, SCALER_STREAM);
    this.#delay = delay;
    this.#pollingFromMs = rng.nextFloat() * (delay?.pollingMs ?? 0);
    this.#syncFromMs = rng.nextFloat() * (delay?.syncMs ?? 0);
  }

  /** When pods are made for what is decided now. */
  actsMs(nowMs: number): number {
    if (this.#delay === null) return nowMs;
    const { pollingMs, syncMs } = this.#delay;
    const seenMs = pollingMs === 0 ? nowMs : next(nowMs, this.#pollingFromMs, pollingMs);
    return next(seenMs, this.#syncFromMs, syncMs);
  }
}

/** The first of the times `fromMs + k intervalMs` that is not before now. */
function next(nowMs: number, fromMs: number, intervalMs: number): number {
  const found = fromMs + Math.ceil((nowMs - fromMs) / intervalMs) * intervalMs;
  assert(found >= nowMs - 1e-6, "an autoscaler acts on what was decided before");
  return Math.max(found, nowMs);
}

/** `keda` with another interval is `keda:10s`; null for what is none of them. */
export function parseScalerDelay(text: string): ScalerDelay | null {
  if (text === "hpa") return HPA_DELAY;
  if (text === "keda") return KEDA_DELAY;
  const seconds = Number(/^keda:(\d{1,4})s$/.exec(text)?.[1]);
  return seconds > 0 ? { ...KEDA_DELAY, pollingMs: 1000 * seconds } : null;
}

export const SCALER_DELAY_FORM =
  "hpa, which looks every 15 s, keda, which polls every 30 s besides, or keda:10s";

/** Such as "KEDA at 30 s polling". */
export function scalerDelayText({ pollingMs, syncMs }: ScalerDelay): string {
  if (pollingMs > 0) return `KEDA at ${pollingMs / 1000} s polling`;
  return `an autoscaler that looks every ${syncMs / 1000} s`;
}

/** How much later than decided pods are made, at most. */
export function longestDelayMs({ pollingMs, syncMs }: ScalerDelay): number {
  return pollingMs + syncMs;
}

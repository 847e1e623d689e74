/** Simulates when a Kubernetes autoscaler acts on the replicas that a plan wants. */
import { assert } from "stratagem-runtime/internal/core/assert";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { ScalerDelay } from "../../spec/application.ts";

export type { ScalerDelay };

/**
 * Defaults of Kubernetes and KEDA: the horizontal pod autoscaler polls the scaler every 15 s; with
 * `useCachedMetrics` of KEDA it sees the last poll, every 30 s.
 */
export const HPA_DELAY: ScalerDelay = { syncMs: 15_000, pollingMs: 0 };
export const KEDA_DELAY: ScalerDelay = { syncMs: 15_000, pollingMs: 30_000 };

const SCALER_STREAM = 5;

/**
 * Polls happen at multiples of their intervals, from a random start: autoscaler clocks are not
 * aligned with the traffic. The tolerance of a tenth is not modelled, since the scaler asks for
 * enough more to exceed it.
 */
export class ScalerClock {
  readonly #delay: ScalerDelay | null;
  readonly #pollingFromMs: number;
  readonly #syncFromMs: number;

  /** @param delay null if replicas start at once. */
  constructor(delay: ScalerDelay | null, seed: number) {
    const rng = new Rng(seed, SCALER_STREAM);
    this.#delay = delay;
    this.#pollingFromMs = rng.nextFloat() * (delay?.pollingMs ?? 0);
    this.#syncFromMs = rng.nextFloat() * (delay?.syncMs ?? 0);
  }

  /** Returns when pods are created for a decision of now. */
  actsMs(nowMs: number): number {
    if (this.#delay === null) return nowMs;
    const { pollingMs, syncMs } = this.#delay;
    const seenMs = pollingMs === 0 ? nowMs : next(nowMs, this.#pollingFromMs, pollingMs);
    return next(seenMs, this.#syncFromMs, syncMs);
  }
}

/** Returns the first of the times `fromMs + k intervalMs` that is not before now. */
function next(nowMs: number, fromMs: number, intervalMs: number): number {
  const found = fromMs + Math.ceil((nowMs - fromMs) / intervalMs) * intervalMs;
  assert(found >= nowMs - 1e-6, "an autoscaler acts after the decision");
  return Math.max(found, nowMs);
}

/** Parses `keda:10s`, which is `keda` with another interval; null for invalid text. */
export function parseScalerDelay(text: string): ScalerDelay | null {
  if (text === "hpa") return HPA_DELAY;
  if (text === "keda") return KEDA_DELAY;
  const seconds = Number(/^keda:(\d{1,4})s$/.exec(text)?.[1]);
  return seconds > 0 ? { ...KEDA_DELAY, pollingMs: 1000 * seconds } : null;
}

export const SCALER_DELAY_FORM =
  "hpa (polls every 15 s), keda (also polls every 30 s), or keda:10s";

/** Formats a delay, such as "KEDA at 30 s polling". */
export function scalerDelayText({ pollingMs, syncMs }: ScalerDelay): string {
  if (pollingMs > 0) return `KEDA at ${pollingMs / 1000} s polling`;
  return `an autoscaler that polls every ${syncMs / 1000} s`;
}

/** Maximum delay between a decision and the creation of its pods. */
export function longestDelayMs({ pollingMs, syncMs }: ScalerDelay): number {
  return pollingMs + syncMs;
}

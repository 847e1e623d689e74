/** Traffic whose rate and burstiness change piece by piece. */
import { arrivalSource } from "stratagem/internal/simulate/arrivals";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { present, sum } from "../harness/numbers.ts";

/** So many ms at one rate and burstiness. */
export interface Piece {
  readonly ms: number;
  readonly qps: number;
  readonly cv2: number;
}

/** Of the traffic that is served; plans are made with seed 1, margins with a million and more. */
export const SEEDS = [4242, 5242, 6242];

export function lengthOf(pieces: readonly Piece[]): number {
  return sum(pieces.map(({ ms }) => ms));
}

/** From one rate to another in steps of a second. */
export function ramp(fromQps: number, toQps: number, ms: number, cv2: number): Piece[] {
  const steps = ms / 1000;
  return Array.from({ length: steps }, (_, step) => ({
    ms: 1000,
    qps: fromQps + ((toQps - fromQps) * (step + 0.5)) / steps,
    cv2,
  }));
}

/** Gamma arrivals: those of rate 1 on a clock that runs at the rate of consecutive pieces. */
export function gammaArrivals(pieces: readonly Piece[], seed: number): Float64Array {
  const times: number[] = [];
  let startMs = 0;
  for (let first = 0; first < pieces.length; ) {
    const { cv2 } = present(pieces[first]);
    let end = first;
    while (pieces[end]?.cv2 === cv2) end++;
    const run = pieces.slice(first, end);
    const expected = sum(run.map(({ ms, qps }) => (ms * qps) / 1000));
    // One per second of the clock; there are never twice as many as expected and some.
    const unit = new Float64Array(Math.ceil(2 * expected) + 1000);
    arrivalSource({ kind: "gamma", qps: 1, cv2 }, new Rng(seed + first, 1)).fill(unit);
    let index = 0;
    let clock = 0;
    for (const { ms, qps } of run) {
      const until = clock + (ms * qps) / 1000;
      for (
        let at = (unit[index] ?? Number.NaN) / 1000;
        at < until;
        at = (unit[++index] ?? Number.NaN) / 1000
      ) {
        times.push(startMs + ((at - clock) * 1000) / qps);
      }
      clock = until;
      startMs += ms;
    }
    first = end;
  }
  return Float64Array.from(times);
}

/** About a third of the peak, and for five minutes far more; AutoScale's after its picture. */
export function bigSpike(minute: number): number {
  const spikes: Record<number, number> = { 34: 0.7, 35: 1, 36: 1, 37: 0.9, 38: 0.55 };
  return spikes[minute] ?? 0.33 + 0.05 * Math.sin(minute / 4);
}

/** Two levels, a jump between them, and a low end; AutoScale's after its picture. */
export function dualPhase(minute: number): number {
  if (minute < 20) return 0.35 + 0.05 * Math.sin(minute / 3);
  if (minute < 36) return 0.9 + 0.1 * Math.sin(minute / 2);
  return Math.max(0.12, 0.9 - 0.15 * (minute - 35));
}

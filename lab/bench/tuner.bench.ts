import { envelopeOf, windowLengths } from "stratagem/internal/numeric/traffic-envelope";
import { arrivalSource } from "stratagem/internal/simulate/arrivals";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { EnvelopeTuner } from "stratagem-runtime/internal/methods/inferline/core/envelope-tuner";
import { TrailingEnvelope } from "stratagem-runtime/internal/methods/inferline/core/traffic-envelope";
import { bench, describe } from "vitest";
import { inferlineBundle } from "../../test/support/inferline-bundle.ts";

const ARRIVALS = 100_000;

function arrivalsOf(qps: number, seed: number): Float64Array {
  const block = new Float64Array(ARRIVALS);
  arrivalSource({ kind: "gamma", qps, cv2: 4 }, new Rng(seed, 1)).fill(block);
  return block;
}

/**
 * Goes on for ever with the same gaps, so that the trailing 60 s are full of them after the first
 * rounds.
 */
class Repeated {
  readonly #blockMs: Float64Array;
  #startMs = 0;

  constructor(qps: number) {
    this.#blockMs = arrivalsOf(qps, 1);
  }

  round(onArrival: (nowMs: number) => void): void {
    const startMs = this.#startMs;
    for (const ms of this.#blockMs) onArrival(startMs + ms);
    this.#startMs = startMs + (this.#blockMs.at(-1) ?? 0);
  }
}

// 10 windows: 117 ms doubled nine times below 60 s, and 60 s.
const windowMs = windowLengths(117.1875 * 1.0001, 60_000);

describe(`${ARRIVALS} arrivals, ${windowMs.length} windows`, () => {
  for (const qps of [150, 1500, 15_000]) {
    const arrivals = new Repeated(qps);
    const envelope = new TrailingEnvelope(windowMs, 60_000);
    bench(`envelope, ${qps} per second`, () => {
      arrivals.round((ms) => envelope.record(ms));
      if (!((envelope.maxima[0] ?? 0) > 1)) throw new Error("bursts have several arrivals");
    });
  }
  for (const rule of ["relative", "paper"] as const) {
    const qps = 1500;
    const requests = envelopeOf(arrivalsOf(qps, 2), windowMs);
    const bundle = inferlineBundle({
      workers: [1000],
      tasks: ["a", "b", "c", "d"].map((name) => ({ name, latencyMs: { 1: 5 } })),
      levels: [
        {
          loadQps: qps,
          stages: [5, 7, 9, 11].map((replicas): [number, number] => [1, replicas]),
          envelope: Array.from(windowMs, (ms, window) => [ms, requests[window] ?? 1] as const),
        },
      ],
    });
    const arrivals = new Repeated(qps);
    const tuner = new EnvelopeTuner(bundle, rule, 0);
    bench(`tuner, ${rule}, four stages, ${qps} per second, ticks included`, () => {
      arrivals.round((ms) => {
        if (ms >= tuner.wakeMs) tuner.tick(ms);
        tuner.onArrival(ms);
      });
      if (tuner.excess > 2) throw new Error("the traffic is much like its sample");
    });
  }
});

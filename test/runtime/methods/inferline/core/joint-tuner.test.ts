import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { envelopeOf, peakRate } from "../../../../../compiler/numeric/traffic-envelope.ts";
import { drawArrivals } from "../../../../../compiler/simulate/graph/drawn-requests.ts";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  JOINT_DEFAULTS,
  JointTuner,
} from "../../../../../runtime/methods/inferline/core/joint-tuner.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";

const WINDOWS = Float64Array.of(
  20,
  40,
  80,
  160,
  320,
  640,
  1280,
  2560,
  5120,
  10_240,
  20_480,
  60_000,
);

interface LevelOf {
  readonly qps: number;
  readonly replicas: readonly [number, number];
  readonly pool?: number;
}

/**
 * Two tasks in a row of which a replica carries 20 and 50 a second, in pools at a price of 0.1 and
 * 0.4; each level with the envelope of two minutes of its traffic. At the SLO of 100 ms a
 * beat is a second.
 */
function bundleOf(levels: readonly LevelOf[], workers = [40, 40]): InferlineBundle {
  return inferlineBundle({
    sloMs: 100,
    workers,
    prices: [0.1, 0.4],
    tasks: [
      { name: "a", latencyMs: [{ 1: 50 }, { 1: 10 }] },
      { name: "b", from: { a: 1 }, latencyMs: { 1: 20 } },
    ],
    levels: levels.map(({ qps, replicas, pool = 0 }) => {
      const sample = drawArrivals({ kind: "poisson", qps }, 120_000, 1);
      const requests = envelopeOf(sample, WINDOWS);
      return {
        loadQps: qps,
        stages: [
          [1, replicas[0], pool],
          [1, replicas[1]],
        ],
        envelope: Array.from(WINDOWS, (ms, at) => [ms, requests[at] ?? 1] as const),
        peakQps: peakRate(sample, 5000, 120_000),
      };
    }),
  });
}

/** Nothing waits, and all that is wanted is ready at once. */
function idle(tuner: JointTuner) {
  return { waiting: () => 0, readyByTask: tuner.targets };
}

/** Beats, and what there was to be at the end of each. */
function drive(
  tuner: JointTuner,
  arrivalMs: Iterable<number>,
  endMs: number,
  comesUp: "at once" | "never" = "at once",
) {
  const beats: { level: number; targets: number[] }[] = [];
  const first = Uint32Array.from(tuner.targets);
  const state = comesUp === "at once" ? idle(tuner) : { waiting: () => 0, readyByTask: first };
  const pass = (untilMs: number) => {
    while (tuner.wakeMs <= untilMs) tuner.tick(tuner.wakeMs, state);
  };
  const note = (untilMs: number) => {
    while ((beats.length + 1) * 1000 <= untilMs) {
      pass((beats.length + 1) * 1000);
      beats.push({ level: tuner.level, targets: [...tuner.targets] });
    }
  };
  for (const ms of arrivalMs) {
    note(ms);
    pass(ms);
    tuner.onArrival(ms);
    pass(ms);
  }
  note(endMs);
  return beats;
}

/** Poisson arrivals at a rate for so many beats each. */
function traffic(...pieces: readonly (readonly [qps: number, beats: number])[]): number[] {
  let startMs = 0;
  return pieces.flatMap(([qps, beats], piece) => {
    const times = drawArrivals({ kind: "poisson", qps }, 1000 * beats, 70 + piece);
    const shifted = Array.from(times, (ms) => startMs + ms);
    startMs += 1000 * beats;
    return shifted;
  });
}

const BASE = { qps: 60, replicas: [5, 2] } as const;
/** Fewer than the base's plan has in proportion. */
const PEAK = { qps: 198, replicas: [11, 5] } as const;

describe("JointTuner", () => {
  test("has the planned replicas until the traffic says otherwise", () => {
    const tuner = new JointTuner(bundleOf([BASE, PEAK]), 1);
    expect([tuner.level, ...tuner.targets]).toEqual([1, 11, 5]);
    expect(tuner.wakeMs).toBe(Number.POSITIVE_INFINITY);
    expect(tuner.recentMeanQps).toBeNaN();
  });

  test("keeps the plan under its own traffic", () => {
    const tuner = new JointTuner(bundleOf([BASE]), 0);
    const beats = drive(tuner, traffic([60, 1800]), 1_800_000);
    const planned = beats.filter(({ targets }) => targets[0] === 5 && targets[1] === 2);
    expect(planned.length).toBeGreaterThan(0.9 * beats.length);
  });

  test("comes down within 55 beats of a fall to the load of a plan below, and stays", () => {
    const tuner = new JointTuner(bundleOf([BASE, PEAK]), 0);
    const beats = drive(tuner, traffic([60, 300], [180, 300], [60, 600]), 1_200_000);
    expect(beats[290]).toEqual({ level: 0, targets: [5, 2] });
    // 40 beats are remembered, and a plan changes once another has been better for ten.
    expect(beats[580]?.level).toBe(1);
    const after = beats.slice(655);
    const planned = after.filter(({ targets }) => targets[0] === 5 && targets[1] === 2);
    expect(planned.length).toBeGreaterThan(0.9 * after.length);
  });

  test("follows a level's plan at its load, though that of the level below were cheaper", () => {
    // Ten and four of the base's plan carry as much.
    const dear = bundleOf([BASE, { qps: 120, replicas: [12, 5] }]);
    const levelsAt = (qps: number) => {
      const beats = drive(new JointTuner(dear, 1), traffic([qps, 300]), 300_000);
      return new Set(beats.slice(60).map(({ level }) => level));
    };
    expect(levelsAt(120)).toEqual(new Set([1]));
    expect(levelsAt(100)).toEqual(new Set([0]));
  });

  test("asks for what a jump needs within a beat, and for the plan that is cheaper then", () => {
    const tuner = new JointTuner(bundleOf([BASE, PEAK]), 0);
    const beats = drive(tuner, traffic([60, 300], [180, 60]), 360_000);
    expect(beats[300]?.targets[0]).toBeGreaterThanOrEqual(8);
    expect(beats[305]?.targets[0]).toBeGreaterThanOrEqual(11);
    expect(beats[359]?.level).toBe(1);
  });

  test("looks at once when an arrival is more than what is provided for allows", () => {
    const tuner = new JointTuner(bundleOf([BASE]), 0);
    tuner.onArrival(0);
    expect(tuner.wakeMs).toBe(1000);
    for (let n = 0; n < 60; n++) tuner.onArrival(500);
    expect(tuner.wakeMs).toBe(500);
    expect(tuner.tick(500, idle(tuner))).toBe(true);
    expect(tuner.targets[0]).toBeGreaterThan(5);
  });

  test("follows a plan with other hardware only where that saves money for a while", () => {
    const dear = bundleOf([BASE, { qps: 80, replicas: [2, 3], pool: 1 }]);
    const tuner = new JointTuner(dear, 0);
    // At 80 a second seven of the cheap kind cost 0.7, two of the dear one 0.8.
    const beats = drive(tuner, traffic([60, 120], [80, 120]), 240_000);
    expect(beats.every(({ level }) => level === 0)).toBe(true);
    expect(beats.at(-1)?.targets[0]).toBeGreaterThanOrEqual(6);
  });

  test("leaves a plan at once where its pool has too few workers", () => {
    const full = bundleOf([BASE, { ...PEAK, replicas: [3, 6], pool: 1 }], [8, 40]);
    const tuner = new JointTuner(full, 0);
    const beats = drive(tuner, traffic([60, 60], [180, 10]), 70_000);
    expect(beats[59]?.level).toBe(0);
    expect(beats[63]?.level).toBe(1);
  });

  test("stays at a level that is fixed, with more and fewer replicas", () => {
    const tuner = new JointTuner(bundleOf([BASE, PEAK]), 1, true);
    const beats = drive(tuner, traffic([60, 120], [190, 60]), 180_000);
    expect(beats.every(({ level }) => level === 1)).toBe(true);
    expect(beats[119]?.targets[0]).toBeLessThan(9);
    expect(beats[179]?.targets[0]).toBeGreaterThanOrEqual(10);
  });

  test("starts replicas ahead of a ramp that is foretold", () => {
    const ramp = Array.from({ length: 60 }, (_, beat) => [60 + 2 * beat, 1] as const);
    const arrivals = traffic([60, 120], ...ramp);
    const until = (forecaster: "rise" | null) => {
      const options = { ...JOINT_DEFAULTS, forecaster };
      const tuner = new JointTuner(bundleOf([BASE]), 0, false, options);
      const beats = drive(tuner, arrivals, 180_000);
      return beats.slice(120).reduce((sum, { targets }) => sum + (targets[0] ?? 0), 0);
    };
    expect(until("rise")).toBeGreaterThan(until(null));
  });

  test("holds what carries a burst that came too fast for replicas to come up, for a time", () => {
    const arrivals = traffic([60, 60], [180, 20], [60, 240]);
    const served = (burstMemoryBeats: number) => {
      const options = { ...JOINT_DEFAULTS, burstMemoryBeats };
      const tuner = new JointTuner(bundleOf([BASE]), 0, false, options);
      return drive(tuner, arrivals, 320_000, "never");
    };
    expect(served(0)[180]?.targets).toEqual([5, 2]);
    const held = served(180);
    // 20 and 50 a second each.
    expect(held[180]?.targets[0]).toBeGreaterThanOrEqual(9);
    expect(held[180]?.targets[1]).toBeGreaterThanOrEqual(4);
    expect(held[310]?.targets).toEqual([5, 2]);
  });

  test("asks for at least one replica and for no more than the pools have, whatever comes", () => {
    const phase = fc.record({
      qps: fc.constantFrom(0.2, 5, 60, 190, 1000),
      beats: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(phase, { minLength: 1, maxLength: 6 }), (phases) => {
        const tuner = new JointTuner(bundleOf([BASE, PEAK]), 0);
        const arrivals = traffic(...phases.map(({ qps, beats }) => [qps, beats] as const));
        const endMs = 1000 * phases.reduce((sum, { beats }) => sum + beats, 0);
        for (const { targets } of drive(tuner, arrivals, endMs + 60_000)) {
          expect(Math.min(...targets)).toBeGreaterThanOrEqual(1);
          expect(Math.max(...targets)).toBeLessThanOrEqual(40);
        }
      }),
      { numRuns: 20 },
    );
  });
});

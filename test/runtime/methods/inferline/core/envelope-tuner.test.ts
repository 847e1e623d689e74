import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  envelopeOf,
  peakRate,
  windowLengths,
} from "../../../../../compiler/numeric/traffic-envelope.ts";
import { arrivalSource } from "../../../../../compiler/simulate/arrivals.ts";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { EnvelopeTuner } from "../../../../../runtime/methods/inferline/core/envelope-tuner.ts";
import {
  type InferlineLevelSketch,
  inferlineBundle,
} from "../../../../support/inferline-bundle.ts";

const SLO_MS = 100;

/**
 * Stages in a row with replicas as planned, each replica carrying 100 queries per second; at this
 * SLO a beat is a second.
 */
function chain(
  levels: readonly (Pick<InferlineLevelSketch, "loadQps" | "envelope" | "peakQps"> & {
    readonly replicas: readonly number[];
  })[],
  { workers = 1000, tolerance = 0 } = {},
): InferlineBundle {
  const count = levels[0]?.replicas.length ?? 0;
  return inferlineBundle({
    sloMs: SLO_MS,
    workers: [workers],
    policy: { tolerance },
    tasks: Array.from({ length: count }, (_, task) => ({
      name: `t${task}`,
      ...(task === 0 ? {} : { from: { [`t${task - 1}`]: 1 } }),
      latencyMs: { 1: 10 },
    })),
    levels: levels.map(({ replicas, ...level }) => ({
      ...level,
      stages: replicas.map((own): [number, number] => [1, own]),
    })),
  });
}

/**
 * Arrivals at these times and every tick that is due in between.
 * @returns the times at which targets changed, with what they were then.
 */
function drive(tuner: EnvelopeTuner, arrivalMs: Iterable<number>, endMs: number) {
  const changes: { ms: number; targets: number[] }[] = [];
  const note = (ms: number, isChanged: boolean) => {
    if (isChanged) changes.push({ ms, targets: [...tuner.targets] });
  };
  const tickUntil = (untilMs: number) => {
    while (tuner.wakeMs <= untilMs) {
      const ms = tuner.wakeMs;
      note(ms, tuner.tick(ms));
    }
  };
  for (const ms of arrivalMs) {
    tickUntil(ms);
    note(ms, tuner.onArrival(ms));
  }
  tickUntil(endMs);
  return changes;
}

/** Arrivals every `gapMs`, from `fromMs` on and before `toMs`. */
function* steady(gapMs: number, fromMs: number, toMs: number) {
  for (let index = 0; fromMs + index * gapMs < toMs; index++) yield fromMs + index * gapMs;
}

function gammaArrivals(qps: number, cv2: number, durationMs: number, seed: number): Float64Array {
  const block = new Float64Array(Math.ceil((qps * durationMs) / 1000) * 2 + 100);
  arrivalSource({ kind: "gamma", qps, cv2 }, new Rng(seed, 1)).fill(block);
  return block.filter((ms) => ms < durationMs);
}

const ENVELOPE: [number, number][] = [
  [100, 10],
  [60_000, 6000],
];

describe("EnvelopeTuner, relative", () => {
  const bundle = chain([
    { loadQps: 100, replicas: [4, 1, 10], envelope: ENVELOPE, peakQps: 100 },
    { loadQps: 200, replicas: [8, 2, 20], envelope: [[50, 20], ...ENVELOPE.slice(1)] },
  ]);

  it("has the planned replicas until the traffic says otherwise", () => {
    const tuner = new EnvelopeTuner(bundle, "relative", 0);
    expect([...tuner.targets]).toEqual([4, 1, 10]);
    expect(tuner.wakeMs).toBe(Number.POSITIVE_INFINITY);
    expect(tuner.recentMeanQps).toBeNaN();
  });

  it("raises every stage by the excess at the arrival that makes it", () => {
    const tuner = new EnvelopeTuner(bundle, "relative", 0);
    // The sample has 10 in 100 ms.
    const changes = drive(tuner, steady(1, 0, 12), 12);
    expect(changes).toEqual([
      { ms: 10, targets: [5, 2, 11] },
      { ms: 11, targets: [5, 2, 12] },
    ]);
    expect(tuner.excess).toBe(1.2);
  });

  it("adds replicas behind a fan-out that makes more than the plan counts with", () => {
    const fanouts = inferlineBundle({
      sloMs: SLO_MS,
      workers: [1000],
      tasks: [
        { name: "detect", latencyMs: { 1: 10 } },
        // The plan counts with one query per request.
        { name: "crop", from: { detect: { fanout: 1 } }, latencyMs: { 1: 10 } },
      ],
      levels: [
        {
          loadQps: 100,
          envelope: [
            [95, 10],
            [60_000, 6000],
          ],
          peakQps: 100,
          stages: [
            [1, 2],
            [1, 3],
          ],
        },
      ],
    });
    const crops = (each: number) => {
      const tuner = new EnvelopeTuner(fanouts, "relative", 0);
      const changes: number[][] = [];
      for (const ms of steady(10, 0, 58_000)) {
        if (ms >= tuner.wakeMs && tuner.tick(tuner.wakeMs)) changes.push([ms, ...tuner.targets]);
        tuner.onArrival(ms);
        for (let crop = 0; crop < each; crop++) tuner.onQuery(1);
      }
      return changes;
    };
    expect(crops(1)).toEqual([]);
    // A first look begins the first window of five beats.
    expect(crops(3)).toEqual([[6000, 2, 9]]);
    expect(crops(0)).toEqual([]);
  });

  it("takes counts within the tolerance for no excess, and those beyond it in full", () => {
    const tolerant = chain(
      [{ loadQps: 100, replicas: [4, 1, 10], envelope: ENVELOPE, peakQps: 100 }],
      { tolerance: 1 },
    );
    const within = new EnvelopeTuner(tolerant, "relative", 0);
    // 10 and a deviation are 13.2: the 14th in 100 ms is an excess of 1.4.
    expect(drive(within, steady(1, 0, 13), 20)).toEqual([]);
    expect(within.excess).toBe(1);
    const beyond = new EnvelopeTuner(tolerant, "relative", 0);
    expect(drive(beyond, steady(1, 0, 14), 14)).toEqual([{ ms: 13, targets: [6, 2, 14] }]);
    expect(beyond.excess).toBe(1.4);
  });

  it("keeps a count of burstier arrivals within a tolerance that is as much wider", () => {
    const poisson = chain([{ loadQps: 100, replicas: [10], envelope: ENVELOPE }], { tolerance: 2 });
    const bursty = { ...poisson, arrivals: { process: "gamma", cv2: 4 } as const };
    // Two deviations of 10 are 6.3, and twice as many where the variance is four times the mean.
    for (const [bundle, count] of [
      [poisson, 16],
      [bursty, 22],
    ] as const) {
      const tuner = new EnvelopeTuner(bundle, "relative", 0);
      expect(drive(tuner, steady(1, 0, count), count)).toEqual([]);
      expect(tuner.onArrival(count)).toBe(true);
    }
  });

  it("does not ask for a replica more because of rounding", () => {
    const odd = chain([{ loadQps: 1, replicas: [25], envelope: [[60_000, 100]] }]);
    const tuner = new EnvelopeTuner(odd, "relative", 0);
    drive(tuner, steady(1, 0, 220), 220);
    expect(25 * tuner.excess).toBeGreaterThan(55);
    expect([...tuner.targets]).toEqual([55]);
  });

  it("asks for no more than the pool of a stage has", () => {
    const tuner = new EnvelopeTuner(
      chain([{ loadQps: 100, replicas: [4, 1], envelope: ENVELOPE }], { workers: 6 }),
      "relative",
      0,
    );
    drive(tuner, steady(0.1, 0, 20), 20);
    expect([...tuner.targets]).toEqual([6, 6]);
  });

  it("lets replicas go after 30 beats of less traffic, and gets them back", () => {
    const tuner = new EnvelopeTuner(bundle, "relative", 0);
    const quiet = steady(50, 0, 40_000);
    const lowered = drive(tuner, quiet, 40_000);
    // Three arrivals in a closed window of 100 ms are 0.3 of the sample, a fifth of the rate.
    expect(lowered).toEqual([{ ms: 30_000, targets: [2, 1, 3] }]);
    const raised = drive(tuner, steady(12.5, 40_000, 41_000), 41_000);
    // The ninth in 100 ms.
    expect(raised.at(-1)?.targets).toEqual([4, 1, 9]);
    expect(tuner.excess).toBeLessThan(1);
    expect(raised.at(-1)?.ms).toBeLessThan(40_200);
  });

  it("keeps what a burst called for until 60 beats after it, then goes back", () => {
    const tuner = new EnvelopeTuner(bundle, "relative", 0);
    const arrivals = [...steady(1, 0, 30), ...steady(20, 200, 90_000)];
    const changes = drive(tuner, arrivals, 90_000);
    const first = changes.findIndex(({ targets }) => targets[2] === 30);
    expect(first).toBeGreaterThanOrEqual(0);
    const next = changes[first + 1];
    expect(next?.ms).toBeGreaterThan(60_000);
    expect(next?.ms).toBeLessThanOrEqual(61_100);
    expect(next?.targets).toEqual([3, 1, 6]);
  });

  it("keeps a replica of every stage when nothing comes any more", () => {
    const tuner = new EnvelopeTuner(bundle, "relative", 0);
    drive(tuner, steady(20, 0, 1000), 300_000);
    expect([...tuner.targets]).toEqual([1, 1, 1]);
    expect(tuner.recentMeanQps).toBe(0);
  });

  it("follows another level with its plan, its windows, and what it has seen", () => {
    const tuner = new EnvelopeTuner(bundle, "relative", 0);
    drive(tuner, steady(1, 0, 30), 30);
    expect([...tuner.targets]).toEqual([12, 3, 30]);
    tuner.follow(1, 40);
    // 30 in 50 ms for a sample of 20.
    expect([...tuner.windowMs]).toEqual([50, 60_000]);
    expect([...tuner.targets]).toEqual([12, 3, 30]);
    expect(tuner.excess).toBe(1.5);
    tuner.follow(0, 50);
    expect([...tuner.targets]).toEqual([12, 3, 30]);
    const fresh = new EnvelopeTuner(bundle, "relative", 0);
    fresh.follow(1, 0);
    expect([...fresh.targets]).toEqual([8, 2, 20]);
  });

  it("asks for at least one replica, and for fewer once nothing changed for 15 beats", () => {
    const phase = fc.record({
      gapMs: fc.constantFrom(1, 5, 10, 40, 200, 5000),
      lengthMs: fc.integer({ min: 1, max: 40_000 }),
    });
    fc.assert(
      fc.property(fc.array(phase, { minLength: 1, maxLength: 8 }), (phases) => {
        const tuner = new EnvelopeTuner(bundle, "relative", 0);
        let startMs = 0;
        const arrivals: number[] = [];
        for (const { gapMs, lengthMs } of phases) {
          arrivals.push(...steady(gapMs, startMs, startMs + lengthMs));
          startMs += lengthMs;
        }
        const changes = drive(tuner, arrivals, startMs + 100_000);
        let before = { ms: Number.NEGATIVE_INFINITY, targets: [4, 1, 10] };
        for (const change of changes) {
          expect(Math.min(...change.targets)).toBeGreaterThanOrEqual(1);
          const isLower = change.targets.some((own, task) => own < (before.targets[task] ?? 0));
          if (isLower) {
            expect(change.ms - before.ms).toBeGreaterThan(15_000);
            expect(change.ms).toBeGreaterThanOrEqual(30_000);
          }
          before = change;
        }
        expect(changes.length).toBeGreaterThan(0);
      }),
      { numRuns: 50 },
    );
  });
});

describe("EnvelopeTuner, paper", () => {
  // Provisioned to 100 / 400, 100 / 100 and 100 / 1000.
  const bundle = chain([{ loadQps: 100, replicas: [4, 1, 10], envelope: ENVELOPE, peakQps: 100 }]);

  it("adds replicas for the highest rate that exceeds the sample's, as if it were the mean", () => {
    const tuner = new EnvelopeTuner(bundle, "paper", 0);
    // 15 in 100 ms are 150 per second, the sample's mean 100.
    const changes = drive(tuner, steady(1, 0, 15), 2000);
    expect(changes).toEqual([{ ms: 1000, targets: [6, 2, 15] }]);
  });

  it("multiplies the plan by burst over mean for one request more than in the sample", () => {
    const bursty = chain([
      { loadQps: 10, replicas: [4], envelope: [[100, 10], ENVELOPE[1] ?? [60_000, 6000]] },
    ]);
    const tuner = new EnvelopeTuner(bursty, "paper", 0);
    drive(tuner, steady(1, 0, 11), 2000);
    expect([...tuner.targets]).toEqual([44]);
  });

  it("keeps below the plan what has gone, though the traffic comes back", () => {
    const tuner = new EnvelopeTuner(bundle, "paper", 0);
    const lowered = drive(tuner, steady(50, 0, 40_000), 40_000);
    // 20 of 100 per second at the ratio of the third stage, the least.
    expect(lowered).toEqual([{ ms: 30_000, targets: [2, 1, 2] }]);
    expect(drive(tuner, steady(12.5, 40_000, 60_000), 60_000)).toEqual([]);
  });

  it("gives up after 15 beats what the envelope calls for, and adds it again a beat later", () => {
    const tuner = new EnvelopeTuner(bundle, "paper", 0);
    const arrivals = [...steady(12.5, 0, 19_800), ...steady(1, 20_000, 20_015)];
    const changes = drive(tuner, [...arrivals, ...steady(12.5, 20_200, 45_000)], 45_000);
    const third = changes.map(({ ms, targets }) => [ms, targets[2]]);
    expect(third).toEqual([
      [21_000, 15],
      [37_000, 8],
      [38_000, 15],
    ]);
  });
});

describe("stationary gamma traffic", () => {
  const replicas = [1, 2, 4, 8];

  interface Traffic {
    readonly qps: number;
    readonly cv2: number;
    readonly tolerance?: number;
  }

  function planFor(sample: Float64Array, { qps, cv2, tolerance = 0 }: Traffic): InferlineBundle {
    const windowMs = windowLengths(20, 60_000);
    const requests = envelopeOf(sample, windowMs);
    const level = {
      loadQps: qps,
      replicas,
      envelope: Array.from(windowMs, (ms, index) => [ms, requests[index] ?? 0] as const),
      peakQps: peakRate(sample, 5000, 120_000),
    };
    return { ...chain([level], { tolerance }), arrivals: { process: "gamma", cv2 } };
  }

  /** All targets over all planned replicas, by the beat and after 60 of them, over samples. */
  function meanRatio(rule: "relative" | "paper", traffic: Traffic): number {
    const { qps, cv2 } = traffic;
    let wanted = 0;
    let planned = 0;
    for (const seed of [1, 2, 3, 4, 5]) {
      const bundle = planFor(gammaArrivals(qps, cv2, 120_000, seed), traffic);
      const tuner = new EnvelopeTuner(bundle, rule, 0);
      for (const ms of gammaArrivals(qps, cv2, 180_000, 100 + seed)) {
        while (tuner.wakeMs <= ms) {
          const wakeMs = tuner.wakeMs;
          tuner.tick(wakeMs);
          if (wakeMs < 60_000) continue;
          for (const target of tuner.targets) wanted += target;
          for (const own of replicas) planned += own;
        }
        tuner.onArrival(ms);
      }
    }
    return wanted / planned;
  }

  for (const [qps, cv2] of [
    [100, 1],
    [100, 4],
  ] as const) {
    it(`makes the paper's rule ask for multiples: ${qps} per second, CV² ${cv2}`, () => {
      expect(meanRatio("paper", { qps, cv2 })).toBeGreaterThan(2);
      const own = meanRatio("relative", { qps, cv2 });
      expect(own).toBeGreaterThan(1);
      // The excess over a sample of the same traffic was found to be at most 1.36; rounding up adds
      // to it, as it is not at its most all the time.
      expect(own).toBeLessThan(1.36);
      const tolerant = meanRatio("relative", { qps, cv2, tolerance: 1 });
      expect(tolerant).toBeGreaterThan(0.95);
      expect(tolerant).toBeLessThan(1.1);
    });
  }
});

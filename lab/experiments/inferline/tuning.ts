/** Figs. 7, 8 and 13, and steady traffic: InferLine and coarse-grained plans, each with tuners. */
import type { Experiment } from "../harness/experiment.ts";
import type { Page } from "../harness/page.ts";
import { AUTO, coarse, GREEDY, Planner, type PlanSpec } from "./planner.ts";
import { Outcomes, type StageMethod } from "./served.ts";
import {
  bigSpike,
  dualPhase,
  gammaArrivals,
  lengthOf,
  type Piece,
  ramp,
  SEEDS,
} from "./traffic.ts";

const STEADY_MS = 300_000;
const MAX_QPS = 300;

interface Comparison {
  readonly title: string;
  readonly durationMs: number;
  /** Seconds at which the rate leaps. */
  readonly jumps?: readonly number[];
  /** What is planned with, and what comes, for each seed. */
  readonly runs: readonly {
    readonly seed: number;
    readonly spec: PlanSpec;
    readonly live: Float64Array;
  }[];
}

export const fig7: Experiment = {
  name: "fig7",
  about: "an hour's rates of AutoScale, of which the first quarter is planned with",
  takes: "one minute",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    await compareTuning(page, planner, shapeComparison("big spike", bigSpike));
    await compareTuning(page, planner, shapeComparison("dual phase", dualPhase));
  },
};

/** Each minute's rate is had for half a minute. */
function shapeComparison(name: string, shape: (minute: number) => number): Comparison {
  const rates = Array.from({ length: 60 }, (_, minute) => shape(minute));
  const scale = MAX_QPS / Math.max(...rates);
  const pieces = rates.map((rate) => ({ ms: 30_000, qps: scale * rate, cv2: 1 }));
  const cutMs = 450_000;
  const runs = SEEDS.map((seed) => {
    const arrivalMs = gammaArrivals(pieces, seed);
    const recorded = arrivalMs.filter((ms) => ms < cutMs);
    const spec: PlanSpec = {
      pipeline: "cascade",
      sloMs: 150,
      traffic: { recorded, sampleMs: cutMs },
    };
    const live = arrivalMs.filter((ms) => ms >= cutMs).map((ms) => ms - cutMs);
    return { seed, spec, live };
  });
  const jumps = rates.flatMap((rate, minute) => {
    const second = 30 * minute - cutMs / 1000;
    return second > 0 && rate > 1.25 * (rates[minute - 1] ?? rate) ? [second] : [];
  });
  const title = `Fig. 7, cascade, 150 ms, ${name}`;
  return { title, durationMs: 30_000 * 60 - cutMs, jumps, runs };
}

export const fig8: Experiment = {
  name: "fig8",
  about: "rates that rise from what is planned for",
  takes: "one minute",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    const spec: PlanSpec = {
      pipeline: "cascade",
      sloMs: 150,
      traffic: { cv2: 1, loads: [150] },
    };
    for (const toQps of [200, 250, 300]) {
      const pieces = [
        { ms: 60_000, qps: 150, cv2: 1 },
        ...ramp(150, toQps, 60_000, 1),
        { ms: 120_000, qps: toQps, cv2: 1 },
      ];
      const title = `Fig. 8, cascade, 150 ms, 150 to ${toQps} qps in a minute`;
      await compareTuning(page, planner, comparisonOf(title, spec, pieces));
    }
  },
};

export const fig13: Experiment = {
  name: "fig13",
  about: "what the planner and what the tuner contribute",
  takes: "fifteen seconds",
  run: async ({ page, folder }) => {
    const pieces = [
      { ms: 60_000, qps: 150, cv2: 1 },
      ...ramp(150, 250, 60_000, 1),
      { ms: 180_000, qps: 250, cv2: 1 },
    ];
    const spec: PlanSpec = { pipeline: "image", sloMs: 350, traffic: { cv2: 1, loads: [150] } };
    const planner = new Planner(folder);
    const title = "Fig. 13, image, 350 ms, 150 to 250 qps in a minute";
    await compareTuning(page, planner, comparisonOf(title, spec, pieces));
  },
};

export const steady: Experiment = {
  name: "steady",
  about: "what tuners make of traffic that is like the sample: nothing would be right",
  takes: "one minute",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    for (const [pipeline, sloMs] of [
      ["cascade", 150],
      ["image", 350],
    ] as const) {
      for (const cv2 of [1, 4]) {
        const spec = { pipeline, sloMs, traffic: { cv2, loads: [150] } };
        const title = `Steady, ${pipeline}, ${sloMs} ms, 150 qps, CV² ${cv2}`;
        const pieces = [{ ms: STEADY_MS, qps: 150, cv2 }];
        await compareTuning(page, planner, comparisonOf(title, spec, pieces));
      }
    }
  },
};

/** The same plans, whatever the seed of the traffic. */
function comparisonOf(title: string, spec: PlanSpec, pieces: readonly Piece[]): Comparison {
  const runs = SEEDS.map((seed) => ({ seed, spec, live: gammaArrivals(pieces, seed) }));
  return { title, durationMs: lengthOf(pieces), runs };
}

async function compareTuning(
  page: Page,
  planner: Planner,
  { title, durationMs, jumps, runs }: Comparison,
): Promise<void> {
  const outcomes = new Outcomes();
  for (const { seed, spec, live } of runs) {
    outcomes.serve(await methodsFor(planner, spec), live, durationMs, seed);
  }
  outcomes.tell(page, title, jumps);
}

async function methodsFor(planner: Planner, spec: PlanSpec): Promise<StageMethod[]> {
  const { traffic } = spec;
  const recorded = "recorded" in traffic ? traffic.recorded : undefined;
  const own = await planner.planned({ ...spec, policy: marginPolicy(traffic) });
  const exact = await planner.planned(spec);
  const greedy = await planner.planned({ ...spec, policy: GREEDY });
  const meanUnits = coarse(exact, "mean", recorded);
  const peakUnits = coarse(exact, "peak", recorded);
  return [
    ["InferLine: margin auto, joint", own, "joint"],
    ["…, relative", own, "relative"],
    ["…, tolerance 1", own, "relative", 1],
    ["…, paper's tuner", own, "paper"],
    ["…, coarse tuner", own, "coarse"],
    ["…, no tuner", own, "none"],
    ["margin 0, joint", exact, "joint"],
    ["margin 0, relative", exact, "relative"],
    ["margin 0, tolerance 1", exact, "relative", 1],
    ["as printed: greedy, paper's tuner", greedy, "paper"],
    ["CG-Mean, coarse tuner", meanUnits, "coarse"],
    ["CG-Peak, coarse tuner", peakUnits, "coarse"],
    ["CG-Mean, no tuner", meanUnits, "none"],
    ["CG-Peak, no tuner", peakUnits, "none"],
  ];
}

/** A margin needs traces that were not planned with: two fifths of a recorded sample. */
function marginPolicy(traffic: PlanSpec["traffic"]): object {
  if (!("recorded" in traffic)) return AUTO;
  return { ...AUTO, traces: 3, sampleDuration: `${traffic.sampleMs / 5} ms` };
}

/** Base, three times base, base: what is paid over a plan for the peak, and how soon no more. */
import type { InferlineSimulationResult } from "stratagem/internal/methods/inferline/simulate/simulate";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment } from "../harness/experiment.ts";
import { mean, percent, present } from "../harness/numbers.ts";
import { worstMinute } from "../scalers/worst-minute.ts";
import { costBetween, follow, peakPlan, ratesOf, type Scaler } from "./followed.ts";
import { AUTO, only, Planner } from "./planner.ts";
import type { PipelineName } from "./reference-pipelines.ts";

const BASE_QPS = 60;
const PEAK_QPS = 180;
/** The peak's plan has a tenth to spare, as one does that is made beforehand. */
const LOADS = [BASE_QPS, 1.1 * PEAK_QPS];
const PHASE_S = 600;
/** A minute, after which what the peak called for has to be gone. */
const SETTLED_S = 60;
const CASES: readonly (readonly [PipelineName, number])[] = [
  ["cascade", 100],
  ["cascade", 150],
  ["cascade", 300],
  ["image", 150],
  ["image", 350],
];
/** Nothing was chosen with them. */
const FRESH = [71, 72, 73];

const TRACE = ratesOf([BASE_QPS, PEAK_QPS, BASE_QPS].map((qps) => ({ ms: 1000 * PHASE_S, qps })));

export const surge: Experiment = {
  name: "surge",
  about: "base, three times base, base, ten minutes each, with one level and with two",
  takes: "one minute",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    const rows: (string | number)[][] = [];
    for (const [pipeline, sloMs] of CASES) {
      const policy = AUTO;
      const spec = { pipeline, sloMs, policy, traffic: { cv2: 1, loads: LOADS } } as const;
      const both = await planner.planned(spec);
      for (const [levels, bundle] of [
        ["one", only(both, 0)],
        ["two", both],
      ] as const) {
        for (const scaler of ["relative", "joint"] as const) {
          const name = `${pipeline}, ${sloMs} ms`;
          rows.push([name, levels, scaler, ...surgeCells(both, bundle, scaler, FRESH)]);
        }
      }
    }
    page.say(`Base ${BASE_QPS}, peak ${PEAK_QPS}, base, ${PHASE_S} s each; seeds ${FRESH}`);
    page.table(SURGE_HEAD, rows);
  },
};

const SURGE_HEAD = [
  "",
  "levels",
  "tuner",
  "base $/h",
  "peak $/h",
  "of peak plan",
  "late",
  "worst",
  "minute",
  "settles",
  "at",
];

function surgeCells(
  both: InferlineBundle,
  bundle: InferlineBundle,
  scaler: Scaler,
  seeds: readonly number[],
): (string | number)[] {
  const [base, peak] = both.levels.map(({ plan }) => plan.costPerHour);
  const runs = seeds.map((seed) => follow(bundle, TRACE, scaler, seed));
  const late = runs.map(({ violationRate }) => violationRate);
  const settles = runs.map((run) => settledAfter(run, present(base)));
  const at = runs.map((run) => settledCost(run) / present(base));
  return [
    present(base).toFixed(2),
    present(peak).toFixed(2),
    (mean(runs.map(({ costPerHour }) => costPerHour)) / present(peak)).toFixed(2),
    percent(mean(late)),
    percent(Math.max(...late)),
    percent(Math.max(...runs.map(({ timeline }) => worstMinute(timeline))), 1),
    Math.max(...settles),
    Math.max(...at).toFixed(2),
  ];
}

/** Seconds after the fall from which a minute costs at most 1.1 of the plan for the base. */
function settledAfter(run: InferlineSimulationResult, base: number): number {
  for (let second = 0; second <= PHASE_S - 60; second++) {
    const from = 2 * PHASE_S + second;
    if (costBetween(run, from, from + 60) <= 1.1 * base) return second;
  }
  return PHASE_S;
}

/** What is paid once a minute is over. */
function settledCost(run: InferlineSimulationResult): number {
  return costBetween(run, 2 * PHASE_S + SETTLED_S, 3 * PHASE_S);
}

/** The peak's plan alone under the same traffic. */
export function lateOfPeakPlan(both: InferlineBundle, seed: number): number {
  return follow(peakPlan(both), TRACE, "none", seed).violationRate;
}

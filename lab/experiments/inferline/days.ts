/** Recorded days: what the joint tuner was chosen with, and what it does on those that judge it. */
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment } from "../harness/experiment.ts";
import { mean, percent, present } from "../harness/numbers.ts";
import { twitterCounts } from "../harness/reference.ts";
import { worstMinute } from "../scalers/worst-minute.ts";
import { follow, peakPlan, type RateTrace, ratesOf, type Scaler } from "./followed.ts";
import { AUTO, Planner } from "./planner.ts";
import type { PipelineName } from "./reference-pipelines.ts";

const DAY_S = 86_400;
/** Twelve days to choose by, as with the forecasters; these two judge and choose nothing. */
const HELD_OUT = [13, 14];
/** Of each of some training days an hour, another one each time. */
const TRAINING: readonly (readonly [day: number, hour: number])[] = [
  [2, 0],
  [5, 8],
  [8, 16],
  [11, 20],
];
const TRAINING_HOURS = 1;
/** The busiest minute of the two weeks comes to the highest load. */
const LOADS = [15, 30, 50, 75, 100];
const PIPELINES: readonly (readonly [PipelineName, number])[] = [
  ["cascade", 150],
  ["image", 350],
];
const JUDGED = PIPELINES.slice(0, 1);
/** Of arrivals: of training, and of judgement. */
const TRAINING_SEED = 31;
const SEED = 91;

/** What each option is changed of; the memory was then chosen between the best of the table. */
const COMMON = { memoryBeats: 30 };

const CHOICES: readonly (readonly [string, Scaler])[] = [
  ["relative", "relative"],
  ...[0.5, 1, 1.5, 2, 3].map((slack) => [`slack ${slack}`, { slack }] as const),
  ...[20, 30, 45, 60].map((beats) => [`memory ${beats} beats`, { memoryBeats: beats }] as const),
  ...([null, "last-max", "ewma", "holt", "poisson-peak", "rise"] as const).map(
    (forecaster) => [`forecast ${forecaster ?? "none"}`, { forecaster }] as const,
  ),
  ["no catching up", { catchesUp: false }],
  ["nothing held for bursts", { burstMemoryBeats: 0 }],
  ["late ones in their turn", { lateLast: false }],
];

export const choice: Experiment = {
  name: "choice",
  about: "what the joint tuner was chosen by: parts of days of Twitter that judge nothing",
  takes: "ten minutes",
  isExtra: true,
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    const counts = scaledCounts();
    const traces = TRAINING.map(([day, hour]) => {
      const from = (day - 1) * DAY_S + 3600 * hour;
      return traceOf(counts.slice(from, from + 3600 * TRAINING_HOURS));
    });
    const rows: (string | number)[][] = [];
    for (const [pipeline, sloMs] of PIPELINES) {
      const bundle = await plannedFor(planner, pipeline, sloMs);
      for (const [name, scaler] of CHOICES) {
        const followed = typeof scaler === "string" ? scaler : { ...COMMON, ...scaler };
        const cells = cellsOf(bundle, traces, followed, TRAINING_SEED);
        rows.push([`${pipeline}, ${name}`, ...cells]);
      }
    }
    page.table(HEAD, rows);
  },
};

export const days: Experiment = {
  name: "days",
  about: "two days of Twitter that chose nothing, followed by tuners",
  takes: "two minutes",
  isExtra: true,
  options: { day: `of the fortnight, from 1 on; ${HELD_OUT.join(" and ")}` },
  run: async ({ page, folder, flags }) => {
    const planner = new Planner(folder);
    const counts = scaledCounts();
    const rows: (string | number)[][] = [];
    for (const [pipeline, sloMs] of JUDGED) {
      const bundle = await plannedFor(planner, pipeline, sloMs);
      const peak = peakPlan(bundle);
      for (const day of flags.numbers("day") ?? HELD_OUT) {
        const traces = [traceOf(counts.slice((day - 1) * DAY_S, day * DAY_S))];
        const runs: readonly (readonly [string, InferlineBundle, Scaler])[] = [
          ["joint", bundle, "joint"],
          ["joint, nothing held for bursts", bundle, { burstMemoryBeats: 0 }],
          ["relative", bundle, "relative"],
          ["the plan of the highest load", peak, "none"],
        ];
        for (const [name, one, scaler] of runs) {
          const cells = cellsOf(one, traces, scaler, SEED + day);
          rows.push([`${pipeline}, ${sloMs} ms, day ${day}`, name, ...cells]);
        }
      }
    }
    page.table(["", "followed by", ...HEAD.slice(1)], rows);
  },
};

const HEAD = ["", "mean $/h", "late", "worst", "worst minute", "changes"];

function cellsOf(
  bundle: InferlineBundle,
  traces: readonly RateTrace[],
  scaler: Scaler,
  seed: number,
): (string | number)[] {
  const runs = traces.map((trace, at) => follow(bundle, trace, scaler, seed + at));
  const late = runs.map(({ violationRate }) => violationRate);
  return [
    mean(runs.map(({ costPerHour }) => costPerHour)).toFixed(3),
    percent(mean(late), 3),
    percent(Math.max(...late), 3),
    percent(Math.max(...runs.map(({ timeline }) => worstMinute(timeline))), 1),
    runs.reduce((sum, { scaling, planSwitches }) => sum + scaling.up + planSwitches, 0),
  ];
}

function plannedFor(planner: Planner, pipeline: PipelineName, sloMs: number) {
  return planner.planned({ pipeline, sloMs, policy: AUTO, traffic: { cv2: 1, loads: LOADS } });
}

/** Requests a second, so that the busiest minute of all days comes to the highest load. */
function scaledCounts(): number[] {
  const counts = twitterCounts();
  let most = 0;
  for (let from = 0; from + 60 <= counts.length; from += 60) {
    most = Math.max(most, mean(counts.slice(from, from + 60)));
  }
  const scale = present(LOADS.at(-1)) / most;
  return counts.map((count) => scale * count);
}

function traceOf(perSecond: readonly number[]): RateTrace {
  return ratesOf(perSecond.map((qps) => ({ ms: 1000, qps })));
}

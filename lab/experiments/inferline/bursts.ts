/** Bursts that come too fast for replicas that start when they come: what holding some is worth. */
import type { Experiment } from "../harness/experiment.ts";
import { mean, percent, present } from "../harness/numbers.ts";
import { bursts as burstTraffic } from "../scalers/rates.ts";
import { worstMinute } from "../scalers/worst-minute.ts";
import { follow, type RateTrace, type Scaler } from "./followed.ts";
import { AUTO, Planner } from "./planner.ts";
import type { PipelineName } from "./reference-pipelines.ts";

const LOADS = [60, 198];
const CASES: readonly (readonly [PipelineName, number])[] = [
  ["cascade", 100],
  ["cascade", 150],
  ["cascade", 300],
  ["image", 150],
  ["image", 350],
];
interface Shape {
  readonly qps: readonly [base: number, burst: number];
  readonly burstS: number;
  readonly everyS: number;
  readonly count: number;
}
const SHAPES: readonly Shape[] = [
  { qps: [60, 180], burstS: 20, everyS: 300, count: 4 },
  { qps: [60, 180], burstS: 120, everyS: 600, count: 2 },
  { qps: [60, 140], burstS: 30, everyS: 200, count: 5 },
];
/** Nothing was chosen with them. */
const FRESH = [81, 82, 83];

export const bursts: Experiment = {
  name: "bursts",
  about: "bursts that come too fast, with replicas held for them and without",
  takes: "two minutes",
  isExtra: true,
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    const rows: (string | number)[][] = [];
    for (const [pipeline, sloMs] of CASES) {
      const traffic = { cv2: 1, loads: LOADS };
      const bundle = await planner.planned({ pipeline, sloMs, policy: AUTO, traffic });
      for (const shape of SHAPES) {
        const cellsOf = (scaler: Scaler) => {
          const runs = FRESH.map((seed) => follow(bundle, traceOf(shape), scaler, seed));
          const late = runs.map(({ violationRate }) => violationRate);
          return [
            mean(runs.map(({ costPerHour }) => costPerHour)).toFixed(2),
            percent(mean(late)),
            percent(Math.max(...late)),
            percent(Math.max(...runs.map(({ timeline }) => worstMinute(timeline))), 1),
          ];
        };
        const { qps, burstS, everyS } = shape;
        rows.push([
          `${pipeline}, ${sloMs} ms`,
          `${qps.join(" → ")}, ${burstS} of ${everyS} s`,
          present(bundle.levels.at(-1)).plan.costPerHour.toFixed(2),
          ...cellsOf({ burstMemoryBeats: 0 }),
          ...cellsOf({}),
        ]);
      }
    }
    page.table(HEAD, rows);
  },
};

const CELLS = ["$/h", "late", "worst", "minute"];
const HEAD = ["", "bursts", "peak $/h", ...CELLS, ...CELLS.map((cell) => `held: ${cell}`)];

function traceOf({ qps: [baseQps, burstQps], ...shape }: Shape): RateTrace {
  return burstTraffic(baseQps, burstQps, shape).arrivals.trace;
}

/** Fig. 9: the planner's estimator beside the simulator with the dispatcher that serves. */
import type { Experiment } from "../harness/experiment.ts";
import { mean, percent } from "../harness/numbers.ts";
import { onlyLevel, Planner, sampleTrace } from "./planner.ts";
import { drawn, serve } from "./served.ts";
import { SEEDS } from "./traffic.ts";

const SAMPLE_MS = 120_000;
const STEADY_MS = 300_000;
const QPS = 150;
const CV2 = 4;

export const fig9: Experiment = {
  name: "fig9",
  about: "what is estimated of the sample, simulated of the same requests, and of others",
  takes: "fifteen seconds",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    const rows: (string | number)[][] = [];
    for (const [pipeline, sloMs] of [
      ["image", 200],
      ["image", 350],
      ["cascade", 150],
      ["cascade", 300],
    ] as const) {
      const traffic = { cv2: CV2, loads: [QPS] };
      const own = await planner.planned({ pipeline, sloMs, traffic });
      const level = onlyLevel(own);
      const trace = sampleTrace(own, level.capacityQps);
      const same = serve(own, { trace, durationMs: SAMPLE_MS }, { tuner: "none", seed: 1 });
      const others = SEEDS.map((seed) => {
        const pieces = [{ ms: STEADY_MS, qps: QPS, cv2: CV2 }];
        return serve(own, drawn(own, pieces, seed), { tuner: "none", seed });
      });
      const p99Ms = others.map(({ latencyMs }) => latencyMs?.p99 ?? Number.NaN);
      rows.push([
        pipeline,
        sloMs,
        level.sample.estimate.p99Ms.toFixed(3),
        same.latencyMs?.p99.toFixed(3) ?? "-",
        `${Math.min(...p99Ms).toFixed(1)} to ${Math.max(...p99Ms).toFixed(1)}`,
        percent(level.sample.estimate.missRate),
        percent(same.violationRate),
        percent(mean(others.map(({ violationRate }) => violationRate))),
      ]);
    }
    page.say(
      "\nFig. 9, 150 qps, CV² 4: P99 and misses, estimated | simulated on the sample | " +
        "on other traces",
    );
    page.table(["pipeline", "SLO ms", "P99", "", "", "misses", "", ""], rows);
  },
};

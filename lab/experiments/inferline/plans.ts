/** Figs. 6 and 10: what plans cost, and what they miss by themselves. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent, present } from "../harness/numbers.ts";
import { AUTO, coarse, GREEDY, only, Planner, planCost } from "./planner.ts";
import type { PipelineName } from "./reference-pipelines.ts";
import { drawn, serve } from "./served.ts";
import { SEEDS } from "./traffic.ts";

const STEADY_MS = 300_000;
const LOADS = [50, 100, 150, 200, 300];
const SLO_MS = 150;

export const fig6: Experiment = {
  name: "fig6",
  about: "plans alone, on traffic like the sample",
  takes: "two and a half minutes",
  run: async (run) => {
    for (const pipeline of ["image", "cascade"] as const) await plansAlone(run, pipeline);
  },
};

async function plansAlone({ page, folder }: Run, pipeline: PipelineName): Promise<void> {
  const planner = new Planner(folder);
  const rows: (string | number)[][] = [];
  for (const cv2 of [1, 4]) {
    const spec = { pipeline, sloMs: SLO_MS, traffic: { cv2, loads: LOADS } };
    const own = await planner.planned(spec);
    const greedy = await planner.planned({ ...spec, policy: GREEDY });
    const roomy = await planner.planned({ ...spec, policy: AUTO });
    for (const [index, qps] of LOADS.entries()) {
      const exact = only(own, index);
      const fine = [only(roomy, index), exact, only(greedy, index)];
      const plans = [...fine, coarse(exact, "mean"), coarse(exact, "peak")];
      const cells = plans.flatMap((bundle) => {
        if (bundle === null) return ["-", "-", "-"];
        const misses = SEEDS.map((seed) => {
          const traffic = drawn(bundle, [{ ms: STEADY_MS, qps, cv2 }], seed);
          return serve(bundle, traffic, { tuner: "none", seed }).violationRate;
        });
        return [planCost(bundle).toFixed(2), percent(mean(misses)), percent(Math.max(...misses))];
      });
      rows.push([qps, cv2, ...cells]);
    }
  }
  page.say(`\nFig. 6, ${pipeline}, ${SLO_MS} ms: $/h, mean and worst misses of plans alone`);
  const methods = ["margin: auto", "exact", "greedy", "CG-Mean", "CG-Peak"];
  page.table(["qps", "CV²", ...methods.flatMap((name) => [name, "", ""])], rows);
}

export const fig10: Experiment = {
  name: "fig10",
  about: "what plans cost under other loads, burstiness and SLOs",
  takes: "two minutes",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    const loads = [100, 200, 300];
    const rows: (string | number)[][] = [];
    for (const cv2 of [1, 4]) {
      for (const sloMs of [100, 150, 200, 250, 300, 350]) {
        const spec = { pipeline: "cascade", sloMs, traffic: { cv2, loads } } as const;
        const own = await planner.planned(spec);
        const cells = own.levels.flatMap(({ feasible, plan, solve }) =>
          feasible
            ? [solve.greedyCostPerHour?.toFixed(2) ?? "-", present(plan).costPerHour.toFixed(2)]
            : ["-", "-"],
        );
        rows.push([sloMs, cv2, ...cells]);
      }
    }
    page.say("\nFig. 10, cascade: $/h of plans, greedy and exact");
    page.table(["SLO ms", "CV²", ...loads.flatMap((qps) => [`${qps} qps`, "exact"])], rows);
  },
};

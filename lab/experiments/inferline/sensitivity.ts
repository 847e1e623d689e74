/** Figs. 11 and 12: traffic that changes, with a tuner, without, and with a plan that knew it. */
import type { Experiment } from "../harness/experiment.ts";
import type { Page } from "../harness/page.ts";
import { AUTO, Planner, type PlanSpec } from "./planner.ts";
import { Outcomes } from "./served.ts";
import { gammaArrivals, lengthOf, type Piece, ramp, SEEDS } from "./traffic.ts";

const SPEC: PlanSpec = { pipeline: "cascade", sloMs: 150, traffic: { cv2: 1, loads: [150] } };

export const fig11: Experiment = {
  name: "fig11",
  about: "from 150 to 250 qps and back, slower and slower",
  takes: "two minutes",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    for (const seconds of [15, 30, 60, 120]) {
      const title = `Fig. 11, cascade, 150 ms, 150 → 250 → 150 qps, τ ${seconds} s`;
      await compare(page, planner, title, [
        { ms: 60_000, qps: 150, cv2: 1 },
        ...ramp(150, 250, 1000 * seconds, 1),
        { ms: 120_000, qps: 250, cv2: 1 },
        ...ramp(250, 150, 1000 * seconds, 1),
        { ms: 120_000, qps: 150, cv2: 1 },
      ]);
    }
  },
};

export const fig12: Experiment = {
  name: "fig12",
  about: "burstier traffic at the same rate",
  takes: "one minute",
  run: async ({ page, folder }) => {
    const planner = new Planner(folder);
    for (const cv2 of [2, 4, 8]) {
      const title = `Fig. 12, cascade, 150 ms, 150 qps, CV² 1 → ${cv2} → 1`;
      await compare(page, planner, title, [
        { ms: 60_000, qps: 150, cv2: 1 },
        { ms: 180_000, qps: 150, cv2 },
        { ms: 120_000, qps: 150, cv2: 1 },
      ]);
    }
  },
};

async function compare(
  page: Page,
  planner: Planner,
  title: string,
  pieces: readonly Piece[],
): Promise<void> {
  const durationMs = lengthOf(pieces);
  const outcomes = new Outcomes();
  const own = await planner.planned({ ...SPEC, policy: AUTO });
  const exact = await planner.planned(SPEC);
  for (const seed of SEEDS) {
    const live = gammaArrivals(pieces, seed);
    const traffic = { recorded: live, sampleMs: durationMs };
    const oracle = await planner.planned({ ...SPEC, traffic });
    outcomes.serve(
      [
        ["InferLine: margin auto, joint", own, "joint"],
        ["…, relative", own, "relative"],
        ["…, tolerance 1", own, "relative", 1],
        ["…, paper's tuner", own, "paper"],
        ["…, no tuner", own, "none"],
        ["margin 0, joint", exact, "joint"],
        ["margin 0, relative", exact, "relative"],
        ["oracle's plan, no tuner", oracle, "none"],
      ],
      live,
      durationMs,
      seed,
    );
  }
  outcomes.tell(page, title);
}

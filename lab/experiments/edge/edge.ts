/** The acceptance of edges, played with real parts on one machine (docs/experiments/edge.md). */
import type { Experiment } from "../harness/experiment.ts";
import { machineLines } from "../harness/live.ts";
import { playAll } from "./play.ts";

const play: Experiment = {
  name: "play",
  about: "CI compiles, gates, signs and pushes; two sites follow, refuse, and survive power cuts",
  takes: "15 minutes; needs docker-registry of Debian",
  options: { cuts: "power cuts in updates at most; one in each step" },
  isExtra: true,
  run: async ({ page, flags, folder }) => {
    for (const line of machineLines()) page.say(line);
    const rows: string[][] = [];
    const outcomes = await playAll({
      folder,
      cuts: flags.number("cuts") ?? Number.POSITIVE_INFINITY,
      tell: (...row) => {
        process.stderr.write(`${row.join(" | ")}\n`);
        rows.push(row);
      },
    });
    page.table(["step", "outcome", "Berlin answered", "Bonn answered"], rows);
    page.say();
    page.table(
      ["power is cut when Berlin", "starts with the one"],
      outcomes.map(({ step, served }) => [step, served]),
    );
  },
};

export const edge: readonly Experiment[] = [play];

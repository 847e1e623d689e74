/** The acceptance of edges, played with real parts on one machine (docs/experiments/edge.md). */
import type { Experiment } from "../harness/experiment.ts";
import { machineLines } from "../harness/live.ts";
import { Play } from "./play.ts";

const CUTS = 12;

const play: Experiment = {
  name: "play",
  about: "CI compiles, gates, signs and pushes; two sites follow, refuse, and survive power cuts",
  takes: "4 minutes; needs docker-registry of Debian",
  options: { cuts: `power cuts in updates; ${CUTS}` },
  isExtra: true,
  run: async ({ page, flags, folder }) => {
    for (const line of machineLines()) page.say(line);
    const rows: string[][] = [];
    await Play.run({
      folder,
      cuts: flags.number("cuts") ?? CUTS,
      tell: (...row) => {
        process.stderr.write(`${row.join(" | ")}\n`);
        rows.push(row);
      },
    });
    page.table(["step", "outcome", "Berlin answered", "Bonn answered"], rows);
  },
};

export const edge: readonly Experiment[] = [play];

/** Accordion as a method of the compiler: how models are cut into pipelines over execution places. */
import { RuntimeError } from "../../../runtime/errors.ts";
import type { CompilerMethodOf } from "../method.ts";
import { refuseTableOptions } from "../table-options.ts";
import { openModels } from "./compile-stages.ts";
import { pipelineTable } from "./pipeline-table.ts";
import { PLACE_BASELINES } from "./place-baselines.ts";
import { placedLevel } from "./placed-level.ts";
import { accordion } from "./solve/accordion.ts";
import { accordionWarnings } from "./warnings.ts";

export const accordionMethod: CompilerMethodOf<"accordion"> = {
  name: "accordion",

  mistakes: accordion.mistakes,
  // Clients name the model, so models need not be alike.
  modelMistakes: () => [],
  openModels,
  withSolver(_policy, solver) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--solver: method accordion has one solver, whose partitions are exact, got ${solver}; leave the option out`,
    );
  },
  frame: accordion.frame,

  isQuick: true,
  solveLevel: (frame, loadQps) => ({ level: placedLevel(frame, loadQps) }),
  bundle: (frame, levels, provenance) => ({ ...frame, levels, provenance }),

  frameOf: ({ levels: _, provenance: __, ...frame }) => frame,
  stated: ({ capacityQps, expected }) => ({ capacityQps, expected }),
  promised(frame, { loadQps }) {
    const { capacityQps, expected } = placedLevel(frame, loadQps);
    return { capacityQps, expected };
  },

  baselines: {
    of: "malleable pipelines",
    isOfPipelines: false,
    names: PLACE_BASELINES,
    tunable: false,
    has: (text) => PLACE_BASELINES.some((name) => name === text),
  },
  async simulate(bundle, { baseline, fanout: _, ...options }, watch) {
    const { simulatePlacesCommand } = await import("./simulate-places.ts");
    return simulatePlacesCommand(bundle, options, baseline?.name ?? null, watch);
  },

  warnings: accordionWarnings,
  tablesAround: (bundle) => ({ before: [pipelineTable(bundle)], after: [] }),
  async report(bundle, asked) {
    refuseTableOptions(asked, "malleable pipelines");
    const { reportAccordion } = await import("./report-page.ts");
    return reportAccordion(bundle, asked);
  },
};

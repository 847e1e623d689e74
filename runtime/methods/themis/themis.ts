/** Themis: plans say how many instances of how many cores each task has, also in a burst. */
import type { ThemisBundle } from "../../bundle/schema.ts";
import { refuseStates } from "../../tell/asked-state.ts";
import { servingTold } from "../../tell/serving-told.ts";
import type { RuntimeMethod } from "../method.ts";
import { readThemisBundle } from "./bundle/read.ts";
import { themisShapeOf } from "./core/shape.ts";
import { themisModels } from "./serve/models.ts";
import { themisDiffer } from "./tell/diff-levels.ts";
import { firstInstances } from "./tell/first-stages.ts";
import { scalePlanTold, scaleSummary, scaleTable } from "./tell/inspect-scales.ts";
import { themisLevels, themisTasks } from "./tell/reports.ts";
import { themisSections } from "./tell/sections.ts";

const NO_STATES =
  "plans of cores and instances, whose stages take what is queued as soon as an instance is " +
  "idle; " +
  "--level shows the plan for a load";

/** As many as its plans and bursts have instances at a time. */
const workerCount = (bundle: ThemisBundle): number => themisShapeOf(bundle).workerCount;

export const themis: RuntimeMethod<ThemisBundle> = {
  name: "themis",
  read: readThemisBundle,
  sections: themisSections,
  taskReports: themisTasks,
  levelReports: themisLevels,
  levelTable: scaleTable,
  summary: scaleSummary,
  tellLevel: scalePlanTold,
  tellState: async (_, { text }) => refuseStates(text, NO_STATES),
  decisions: () => ({
    stateCount: null,
    text: "each with a plan whose stages are as profiled and whose costs add up",
  }),
  diffFrame: ({ levels: _levels, transitions: _rows, ...frame }) => frame,
  levelDiffer: themisDiffer,
  models: themisModels,
  workerCount,
  tellServing: (bundle) => servingTold(workerCount(bundle), firstInstances(bundle)),
  serve: async (bundle, { workers, ...options }) => {
    const { startForetoldServer } = await import("./serve/themis-server.ts");
    const executorFactory = workers.startAssigned.bind(workers);
    return startForetoldServer({ ...options, bundle, executorFactory });
  },
};

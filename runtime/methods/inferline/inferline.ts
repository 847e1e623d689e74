/** InferLine: plans say on what hardware each task runs, in what batches, on how many replicas. */
import type { InferlineBundle } from "../../bundle/schema.ts";
import { refuseStates } from "../../tell/asked-state.ts";
import { pooledWorkers, servingTold } from "../../tell/serving-told.ts";
import type { RuntimeMethod } from "../method.ts";
import { readInferlineBundle } from "./bundle/read.ts";
import { inferlineModels } from "./serve/models.ts";
import { inferlineDiffer } from "./tell/diff-levels.ts";
import { firstReplicas } from "./tell/first-stages.ts";
import { provisioningTable, stagePlanTold, stageSummary } from "./tell/inspect-stages.ts";
import { inferlineLevels, inferlineTasks } from "./tell/reports.ts";
import { inferlineSections } from "./tell/sections.ts";

const NO_STATES =
  "provisioning plans, whose stages take what is queued as soon as a replica is idle; " +
  "--level shows the plan for a load";

export const inferline: RuntimeMethod<InferlineBundle> = {
  name: "inferline",
  read: readInferlineBundle,
  sections: inferlineSections,
  taskReports: inferlineTasks,
  levelReports: inferlineLevels,
  levelTable: provisioningTable,
  summary: stageSummary,
  tellLevel: stagePlanTold,
  tellState: async (_, { text }) => refuseStates(text, NO_STATES),
  decisions: () => ({
    stateCount: null,
    text: "each with a plan whose stages are as profiled and whose costs add up",
  }),
  diffFrame: ({ levels: _, ...frame }) => frame,
  levelDiffer: inferlineDiffer,
  models: inferlineModels,
  workerCount: pooledWorkers,
  tellServing: (bundle) => servingTold(pooledWorkers(bundle), firstReplicas(bundle)),
  serve: async (bundle, { workers, ...options }) => {
    const { startInferlineServer } = await import("./serve/inferline-server.ts");
    const executorFactory = workers.startAssigned.bind(workers);
    return startInferlineServer({ ...options, bundle, executorFactory });
  },
};

/** RAMSIS: tables choose the variant and the batch. */
import type { RamsisBundle } from "../../bundle/schema.ts";
import { CommandBuffer } from "../../core/command-buffer.ts";
import { pooledWorkers, servingSummary } from "../../describe/serving-summary.ts";
import type { RuntimeMethod } from "../method.ts";
import { readRamsisBundle } from "./bundle/fields.ts";
import { type DispatcherOptions, dispatcherOf } from "./core/dispatcher-of.ts";
import { tableDecision } from "./describe/decision.ts";
import { tableDiffer } from "./describe/diff.ts";
import { levelTable, ramsisSummary } from "./describe/inspect.ts";
import { tableMap } from "./describe/inspect-level.ts";
import { tableState } from "./describe/inspect-state.ts";
import { ramsisLevels, ramsisSections, ramsisTasks } from "./describe/reports.ts";
import { reviewedByTables } from "./describe/review.ts";
import { ramsisModels } from "./serve/models.ts";
import { RamsisReplayer } from "./serve/replayer.ts";

export const ramsis = {
  name: "ramsis",
  read: readRamsisBundle,
  sections: ramsisSections,
  taskReports: ramsisTasks,
  levelReports: ramsisLevels,
  levelTable,
  summary: ramsisSummary,
  describeLevel: tableMap,
  describeState: tableState,
  decisions: ({ levels }) => {
    const stateCount = levels.reduce((count, level) => count + level.actionByState.data.length, 0);
    return { stateCount, text: `${stateCount} states, each with a decision in range` };
  },
  decide: tableDecision,
  core: (bundle: RamsisBundle, options?: DispatcherOptions) => {
    const core = dispatcherOf(bundle, options);
    return { core, commands: new CommandBuffer(core.commandCapacity, core.waitingCapacity) };
  },
  replayer: (bundle) => new RamsisReplayer(bundle),
  reviewed: reviewedByTables,
  diffFrame: ({ levels: _, ...frame }) => frame,
  levelDiffer: tableDiffer,
  models: ramsisModels,
  workerCount: pooledWorkers,
  describeServing: (bundle) => servingSummary(pooledWorkers(bundle)),
  host: async (bundle, { workers, ...options }) => {
    const { ramsisApplication } = await import("./serve/ramsis-application.ts");
    const executorFactory = workers.start.bind(workers);
    return ramsisApplication({ ...options, bundle, executorFactory });
  },
} satisfies RuntimeMethod<RamsisBundle>;

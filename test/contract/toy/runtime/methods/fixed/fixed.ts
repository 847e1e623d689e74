/** Fixed: one variant for every query, in batches of the size that the load takes. */
import type { FixedBundle } from "../../bundle/schema.ts";
import { levelAt } from "../../core/level-choice.ts";
import { refuseStates } from "../../describe/asked-state.ts";
import { pooledWorkers, servingSummary } from "../../describe/serving-summary.ts";
import type { RuntimeMethod } from "../method.ts";
import { readFixedBundle } from "./bundle/read.ts";
import { FixedCluster } from "./core/fixed-cluster.ts";
import { FixedReplayer } from "./serve/fixed-replayer.ts";
import {
  describeFixed,
  fixedDiffer,
  fixedLevels,
  fixedModels,
  fixedSections,
  fixedSummary,
  fixedTable,
  fixedTasks,
} from "./tell/tell.ts";

export const fixed = {
  name: "fixed",
  read: readFixedBundle,
  sections: fixedSections,
  taskReports: fixedTasks,
  levelReports: fixedLevels,
  levelTable: fixedTable,
  summary: fixedSummary,
  describeLevel: describeFixed,
  describeState: async (_, { text }) => refuseStates(text, "one batch size; --level shows it"),
  decisions: () => ({ stateCount: null, text: "each with a batch that was profiled" }),
  decide: ({ levels }: FixedBundle, level: number) => levelAt(levels, level),
  core: ({ policy }: FixedBundle) => ({ core: new FixedCluster(policy.maxBatch), commands: [] }),
  replayer: ({ levels }) => new FixedReplayer(levels.at(-1)?.batch ?? 1),
  diffFrame: ({ levels: _, ...frame }) => frame,
  levelDiffer: fixedDiffer,
  models: fixedModels,
  workerCount: pooledWorkers,
  describeServing: (bundle) => servingSummary(pooledWorkers(bundle)),
  host: async (bundle, { workers, ...options }) => {
    const { fixedApplication } = await import("./serve/fixed-application.ts");
    return fixedApplication(bundle, options, workers.start.bind(workers));
  },
} satisfies RuntimeMethod<FixedBundle>;

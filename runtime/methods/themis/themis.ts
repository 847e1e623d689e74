/** Themis: plans give each task's instances and their cores, also for bursts. */
import { followedLevels, type ThemisBundle } from "../../bundle/schema.ts";
import { CommandBuffer } from "../../core/command-buffer.ts";
import { levelAt } from "../../core/level-choice.ts";
import { refuseStates } from "../../describe/asked-state.ts";
import { plannedWorkers } from "../../describe/planned-workers.ts";
import { servingSummary } from "../../describe/serving-summary.ts";
import { PipelineReplayer } from "../../server/graph/pipeline-replayer.ts";
import { queryRoom } from "../../server/graph/query-room.ts";
import type { RuntimeMethod } from "../method.ts";
import { readThemisBundle } from "./bundle/fields.ts";
import { themisShapeOf } from "./core/shape.ts";
import { type ThemisDispatcherOptions, themisDispatcherOf } from "./core/themis-dispatcher.ts";
import { themisDiffer } from "./describe/diff.ts";
import { levelTable, describePlan, themisSummary } from "./describe/inspect.ts";
import { firstInstances, themisLevels, themisSections, themisTasks } from "./describe/reports.ts";
import { themisModels } from "./serve/models.ts";

const NO_STATES =
  "plans of cores and instances: an idle instance takes the queries of its task, up " +
  "to its largest batch; --level shows the plan for a load, and its changes in a burst";

/** Returns the largest number of instances that plans and bursts use at a time. */
const workerCount = (bundle: ThemisBundle): number => themisShapeOf(bundle).workerCount;

export const themis = {
  name: "themis",
  read: readThemisBundle,
  sections: themisSections,
  taskReports: themisTasks,
  levelReports: themisLevels,
  levelTable,
  summary: themisSummary,
  describeLevel: describePlan,
  describeState: async (_, { text }) => refuseStates(text, NO_STATES),
  decisions: () => ({
    stateCount: null,
    text: "each with a plan whose stages are as profiled and whose costs add up",
  }),
  decide: (bundle: ThemisBundle, level: number) => levelAt(followedLevels(bundle), level),
  core: (bundle: ThemisBundle, options: ThemisDispatcherOptions) => {
    const core = themisDispatcherOf(bundle, options);
    return { core, commands: new CommandBuffer(core.commandCapacity, options.queryCapacity) };
  },
  replayer: (bundle, { maxPending }) => {
    const { queryCapacity } = queryRoom(themisShapeOf(bundle), maxPending);
    return new PipelineReplayer(themisDispatcherOf(bundle, { queryCapacity }), queryCapacity);
  },
  diffFrame: ({ levels: _levels, paceLevels: _paced, transitions: _rows, ...frame }) => frame,
  levelDiffer: themisDiffer,
  models: themisModels,
  workerCount,
  workersByPool: (bundle: ThemisBundle) => {
    const { workerStart } = themisShapeOf(bundle).replicas;
    return bundle.cluster.pools.map((_, pool) => {
      return (workerStart[pool + 1] ?? 0) - (workerStart[pool] ?? 0);
    });
  },
  plannedWorkers: (bundle: ThemisBundle, level: number) =>
    plannedWorkers(
      bundle,
      levelAt(followedLevels(bundle), level).steady.stages.map((stage, task) => {
        const { instances: workers, variant = 0 } = stage;
        return { task, pool: bundle.tasks[task]?.variants[variant]?.pool ?? 0, workers };
      }),
    ),
  describeServing: (bundle) => servingSummary(workerCount(bundle), firstInstances(bundle)),
  host: async (bundle, { workers, ...options }) => {
    const { foretoldApplication } = await import("./serve/themis-application.ts");
    const executorFactory = workers.startAssigned.bind(workers);
    return foretoldApplication({ ...options, bundle, executorFactory });
  },
} satisfies RuntimeMethod<ThemisBundle>;

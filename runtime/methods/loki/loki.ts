/** Loki: plans assign variants to servers, and paths to requests. */
import type { LokiBundle } from "../../bundle/schema.ts";
import { CommandBuffer } from "../../core/command-buffer.ts";
import type { PipelineDispatcherOptions } from "../../core/graph/pipeline-dispatcher.ts";
import { levelAt } from "../../core/level-choice.ts";
import { refuseStates } from "../../describe/asked-state.ts";
import { plannedWorkers } from "../../describe/planned-workers.ts";
import { pooledWorkers, servingSummary } from "../../describe/serving-summary.ts";
import { PipelineReplayer } from "../../server/graph/pipeline-replayer.ts";
import type { RuntimeMethod } from "../method.ts";
import { readLokiBundle } from "./bundle/fields.ts";
import { pipelineDispatcherOf } from "./core/loki-dispatcher.ts";
import { lokiDiffer } from "./describe/diff.ts";
import { levelTable, lokiSummary, describePlan } from "./describe/inspect.ts";
import { lokiLevels, lokiSections, lokiTasks } from "./describe/reports.ts";
import { lokiModels } from "./serve/models.ts";
import { queryRoom } from "./serve/query-room.ts";

const NO_STATES =
  "plans: an idle server takes the queries of its variant, up to its largest batch; " +
  "--level shows the plan for a load, and the paths of requests";

export const loki = {
  name: "loki",
  read: readLokiBundle,
  sections: lokiSections,
  taskReports: lokiTasks,
  levelReports: lokiLevels,
  levelTable,
  summary: lokiSummary,
  describeLevel: describePlan,
  describeState: async (_, { text }) => refuseStates(text, NO_STATES),
  decisions: () => ({ stateCount: null, text: "each with a plan whose flows add up" }),
  decide: ({ levels }: LokiBundle, level: number) => levelAt(levels, level),
  core: (bundle: LokiBundle, options: PipelineDispatcherOptions) => {
    const core = pipelineDispatcherOf(bundle, options);
    return { core, commands: new CommandBuffer(core.commandCapacity, options.queryCapacity) };
  },
  replayer: (bundle, { maxPending }) => {
    const queryCapacity = queryRoom(bundle, maxPending);
    return new PipelineReplayer(pipelineDispatcherOf(bundle, { queryCapacity }), queryCapacity);
  },
  diffFrame: ({ levels: _, ...frame }) => frame,
  levelDiffer: lokiDiffer,
  models: lokiModels,
  workerCount: pooledWorkers,
  plannedWorkers: (bundle: LokiBundle, level: number) =>
    plannedWorkers(
      bundle,
      levelAt(bundle.levels, level).plan.instances.map(({ task, pool, replicas: workers }) => {
        return { task, pool, workers };
      }),
    ),
  describeServing: (bundle) => servingSummary(pooledWorkers(bundle)),
  host: async (bundle, { workers, ...options }) => {
    const { lokiApplication } = await import("./serve/loki-application.ts");
    const executorFactory = workers.startAssigned.bind(workers);
    return lokiApplication({ ...options, bundle, executorFactory });
  },
} satisfies RuntimeMethod<LokiBundle>;

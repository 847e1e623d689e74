/** InferLine: plans give each task's hardware, batch size and number of replicas. */
import type { InferlineBundle } from "../../bundle/schema.ts";
import { CommandBuffer } from "../../core/command-buffer.ts";
import { replicaShapeOf } from "../../core/graph/replica-shape.ts";
import { levelAt } from "../../core/level-choice.ts";
import { refuseStates } from "../../describe/asked-state.ts";
import { plannedWorkers } from "../../describe/planned-workers.ts";
import { pooledWorkers, servingSummary } from "../../describe/serving-summary.ts";
import { PipelineReplayer } from "../../server/graph/pipeline-replayer.ts";
import { queryRoom } from "../../server/graph/query-room.ts";
import type { RuntimeMethod } from "../method.ts";
import { readInferlineBundle } from "./bundle/fields.ts";
import {
  type InferlineDispatcherOptions,
  inferlineDispatcherOf,
} from "./core/inferline-dispatcher.ts";
import { inferlineDiffer } from "./describe/diff.ts";
import { inferlineSummary, levelTable, describePlan } from "./describe/inspect.ts";
import {
  firstReplicas,
  inferlineLevels,
  inferlineSections,
  inferlineTasks,
} from "./describe/reports.ts";
import { inferlineModels } from "./serve/models.ts";

const NO_STATES =
  "provisioning plans: an idle replica takes the queries of its task, up to its " +
  "largest batch; --level shows the plan for a load, and why it is not cheaper";

export const inferline = {
  name: "inferline",
  read: readInferlineBundle,
  sections: inferlineSections,
  taskReports: inferlineTasks,
  levelReports: inferlineLevels,
  levelTable,
  summary: inferlineSummary,
  describeLevel: describePlan,
  describeState: async (_, { text }) => refuseStates(text, NO_STATES),
  decisions: () => ({
    stateCount: null,
    text: "each with a plan whose stages are as profiled and whose costs add up",
  }),
  decide: ({ levels }: InferlineBundle, level: number) => levelAt(levels, level),
  core: (bundle: InferlineBundle, options: InferlineDispatcherOptions) => {
    const core = inferlineDispatcherOf(bundle, options);
    return { core, commands: new CommandBuffer(core.commandCapacity, options.queryCapacity) };
  },
  replayer: (bundle, { maxPending }) => {
    const { queryCapacity } = queryRoom(replicaShapeOf(bundle), maxPending);
    return new PipelineReplayer(inferlineDispatcherOf(bundle, { queryCapacity }), queryCapacity);
  },
  diffFrame: ({ levels: _, ...frame }) => frame,
  levelDiffer: inferlineDiffer,
  models: inferlineModels,
  workerCount: pooledWorkers,
  plannedWorkers: (bundle: InferlineBundle, level: number) =>
    plannedWorkers(
      bundle,
      levelAt(bundle.levels, level).plan.stages.map(({ pool, replicas: workers }, task) => {
        return { task, pool, workers };
      }),
    ),
  describeServing: (bundle) => servingSummary(pooledWorkers(bundle), firstReplicas(bundle)),
  host: async (bundle, { workers, ...options }) => {
    const { inferlineApplication } = await import("./serve/inferline-application.ts");
    const executorFactory = workers.startAssigned.bind(workers);
    return inferlineApplication({ ...options, bundle, executorFactory });
  },
} satisfies RuntimeMethod<InferlineBundle>;

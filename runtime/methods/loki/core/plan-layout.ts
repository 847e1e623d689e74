/** Flattens the plan of a level. */
import type { LokiLevel, StagePolicy } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { NONE, type PipelineShape, starts } from "../../../core/graph/pipeline-shape.ts";
import { type RoutingRows, routingRowsOf } from "./routing-rows.ts";

/**
 * The plan of a level as flat arrays.
 *
 * Servers that run one variant with one batch size form a group and share a queue: a query is bound
 * to a server only when its batch starts. The paper has a queue per server; a shared one loads
 * equal servers equally by itself, and no query waits behind a batch while another server is idle.
 * If there is a stage policy, all servers of the task form one group. Groups are sorted by task,
 * then by falling accuracy, then in the order of the plan.
 */
export interface PlanLayout {
  /** Service times of the machine that the plan is for, relative to the profile. */
  readonly pace: number;
  /** On a machine as profiled, as all rates and times below. */
  readonly demandQps: number;
  /** Up to which the level is meant to be followed, requests per second: without its headroom. */
  readonly carriedQps: number;
  readonly servers: number;
  readonly groupCount: number;
  /** Groups of task t are `groupStart[t]` to `groupStart[t + 1] - 1`. */
  readonly groupStart: Uint32Array;
  readonly taskByGroup: Uint32Array;
  /** Variant of each group, [groupCount]; with a stage policy one of those in the plan. */
  readonly variantByGroup: Uint32Array;
  readonly accuracyByGroup: Float64Array;
  /** Largest batch, [groupCount]. */
  readonly batchByGroup: Uint32Array;
  /** Latency of a full batch, [groupCount]. */
  readonly latencyMsByGroup: Float64Array;
  /** Queries of a group per request on the plan's paths, [groupCount]. */
  readonly queriesByGroup: Float64Array;
  /** Throughput of all its servers with whole batches, [groupCount]. */
  readonly plannedQpsByGroup: Float64Array;
  /** Start of the service times of the group's variant on its pool in `shape.serviceMs`. */
  readonly serviceStartByGroup: Uint32Array;
  readonly stageByTask: readonly (StagePolicy | null)[];

  readonly instanceCount: number;
  readonly groupByInstance: Uint32Array;
  readonly taskByInstance: Uint32Array;
  readonly variantByInstance: Uint32Array;
  readonly poolByInstance: Uint32Array;
  readonly replicasByInstance: Uint32Array;
  readonly batchByInstance: Uint32Array;
  readonly throughputQpsByInstance: Float64Array;

  readonly nodeCount: number;
  /** NONE at an entry task. */
  readonly parentByNode: Int32Array;
  readonly groupByNode: Uint32Array;
  readonly variantByNode: Uint32Array;
  readonly ratioByNode: Float64Array;
  readonly rows: RoutingRows;
  /** Group that runs a variant, [variantCount]; NONE if the plan does not use it. */
  readonly groupByVariant: Int32Array;
}

type PlannedLevel = Pick<LokiLevel, "loadQps" | "plan"> & Partial<Pick<LokiLevel, "stages">>;

/** @param pace of the machine that the level was planned for. */
export function planLayoutOf(shape: PipelineShape, level: PlannedLevel, pace = 1): PlanLayout {
  const { plan } = level;
  const stageByTask = Array.from({ length: shape.taskCount }, (_, t) => level.stages?.[t] ?? null);
  const variantByInstance = Uint32Array.from(
    plan.instances,
    ({ task, variant }) => shape.variantStart[task]! + variant,
  );
  const members = groupsOf(shape, plan.instances, stageByTask, variantByInstance);
  const first = members.map(([instance]) => instance!);
  const instanceOf = (group: number) => plan.instances[first[group]!]!;
  const groups = members.map((_, group) => group);
  const groupByInstance = new Uint32Array(plan.instances.length);
  for (const group of groups) {
    for (const instance of members[group]!) groupByInstance[instance] = group;
  }
  const groupByVariant = new Int32Array(shape.variantCount).fill(NONE);
  for (const [instance, variant] of variantByInstance.entries()) {
    if (groupByVariant[variant] === NONE) groupByVariant[variant] = groupByInstance[instance]!;
  }
  const taskByGroup = Uint32Array.from(groups, (group) => instanceOf(group).task);
  const perTask = Array.from(
    { length: shape.taskCount },
    (_, task) => taskByGroup.filter((of) => of === task).length,
  );
  assert(!perTask.includes(0), "a plan has an instance for every task");
  const nodes = {
    nodeCount: plan.nodes.length,
    parentByNode: Int32Array.from(plan.nodes, ({ parent }) => parent ?? NONE),
    groupByNode: Uint32Array.from(plan.nodes, ({ instance }) => groupByInstance[instance]!),
    variantByNode: Uint32Array.from(plan.nodes, ({ instance }) => variantByInstance[instance]!),
    ratioByNode: Float64Array.from(plan.nodes, ({ ratio }) => ratio),
  };
  const variantByGroup = Uint32Array.from(first, (instance) => variantByInstance[instance]!);
  const grouping = { groupCount: groups.length, groupStart: starts(perTask), taskByGroup };
  return {
    pace,
    demandQps: plan.demandQps * pace,
    carriedQps: Math.min(plan.demandQps, level.loadQps) * pace,
    servers: plan.servers,
    ...grouping,
    variantByGroup,
    accuracyByGroup: Float64Array.from(variantByGroup, (v) => shape.accuracyByVariant[v]!),
    batchByGroup: Uint32Array.from(groups, (group) => instanceOf(group).batch),
    latencyMsByGroup: Float64Array.from(groups, (group) => instanceOf(group).latencyMs / pace),
    plannedQpsByGroup: Float64Array.from(members, (own) =>
      own.reduce((sum, index) => {
        const { replicas, throughputQps } = plan.instances[index]!;
        return sum + replicas * throughputQps * pace;
      }, 0),
    ),
    queriesByGroup: queriesByGroup(shape, grouping.groupCount, nodes),
    serviceStartByGroup: Uint32Array.from(groups, (group) => {
      const { pool } = instanceOf(group);
      return shape.serviceStart[variantByGroup[group]! * shape.poolCount + pool]!;
    }),
    stageByTask,
    instanceCount: plan.instances.length,
    groupByInstance,
    taskByInstance: Uint32Array.from(plan.instances, ({ task }) => task),
    variantByInstance,
    poolByInstance: Uint32Array.from(plan.instances, ({ pool }) => pool),
    replicasByInstance: Uint32Array.from(plan.instances, ({ replicas }) => replicas),
    batchByInstance: Uint32Array.from(plan.instances, ({ batch }) => batch),
    throughputQpsByInstance: Float64Array.from(plan.instances, (i) => i.throughputQps * pace),
    ...nodes,
    rows: routingRowsOf(shape, grouping, nodes),
    groupByVariant,
  };
}

/** Queries of each group per request, when fan-outs are as planned. */
function queriesByGroup(
  shape: PipelineShape,
  groupCount: number,
  { nodeCount, parentByNode, groupByNode, variantByNode, ratioByNode }: Nodes,
): Float64Array {
  const queries = new Float64Array(groupCount);
  const perRequest = new Float64Array(nodeCount);
  for (let node = 0; node < nodeCount; node++) {
    const task = shape.taskByVariant[variantByNode[node]!]!;
    const parent = parentByNode[node]!;
    if (parent === NONE) perRequest[node] = shape.entryShareByTask[task]!;
    else {
      const edge = shape.fanoutStart[variantByNode[parent]!]! + shape.ordinalByTask[task]!;
      perRequest[node] = perRequest[parent]! * shape.fanout[edge]!;
    }
    queries[groupByNode[node]!]! += ratioByNode[node]! * perRequest[node]!;
  }
  return queries;
}

type Nodes = Pick<
  PlanLayout,
  "nodeCount" | "parentByNode" | "groupByNode" | "variantByNode" | "ratioByNode"
>;

/** @returns of each group the instances, in the order of the groups. */
function groupsOf(
  shape: PipelineShape,
  instances: LokiLevel["plan"]["instances"],
  stageByTask: readonly (StagePolicy | null)[],
  variantByInstance: Uint32Array,
): number[][] {
  const order = instances.map((_, index) => index);
  const accuracy = (index: number) => shape.accuracyByVariant[variantByInstance[index]!]!;
  const task = (index: number) => instances[index]!.task;
  order.sort((a, b) => task(a) - task(b) || accuracy(b) - accuracy(a) || a - b);
  const groups: number[][] = [];
  for (const index of order) {
    const last = groups.at(-1);
    const joins = last !== undefined && task(last[0]!) === task(index);
    if (joins && stageByTask[task(index)] !== null) last.push(index);
    else groups.push([index]);
  }
  return groups;
}

/** Keeps routing probabilities as rows, and picks targets from them. */
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";

/**
 * Routes of queries, as rows of targets with probabilities.
 *
 * A query is in a state: a node of the plan's path tree, which remembers the way it came; a group
 * of servers, when it is not on the plan's paths; or only its task, when its last variant is not in
 * the plan. Each state has a row for each child task, and two more states come before the entry
 * tasks, on the plan's paths and off them. Rows of nodes lead to nodes in the plan's shares and
 * never change; all others lead to the groups of the task, by falling accuracy, and
 * `mostAccurateFirst` sets their probabilities.
 */
export interface RoutingRows {
  /** States: nodes, then groups, then tasks, then these two. */
  readonly firstGroup: number;
  readonly firstTask: number;
  readonly planEntry: number;
  readonly groupEntry: number;
  /** Row of a state for the child of ordinal 0, [stateCount]. */
  readonly firstRow: Uint32Array;
  /**
   * Entries of row r are `entryStart[r]` to `entryStart[r + 1] - 1`; empty if the plan has none.
   */
  readonly entryStart: Uint32Array;
  /** State that an entry leads to. */
  readonly target: Uint32Array;
  readonly probability: Float64Array;
  /** How much an entry has been passed over, in queries. */
  readonly credit: Float64Array;
  /** Group of each state, [stateCount]; NONE for states without a group. */
  readonly groupByState: Int32Array;
}

interface Grouping {
  readonly groupCount: number;
  readonly groupStart: Uint32Array;
  readonly taskByGroup: Uint32Array;
}

interface Nodes {
  readonly nodeCount: number;
  readonly parentByNode: Int32Array;
  readonly groupByNode: Uint32Array;
  readonly ratioByNode: Float64Array;
}

export function routingRowsOf(shape: PipelineShape, grouping: Grouping, nodes: Nodes): RoutingRows {
  const { groupCount, groupStart, taskByGroup } = grouping;
  const { nodeCount, parentByNode, groupByNode, ratioByNode } = nodes;
  const firstTask = nodeCount + groupCount;
  const planEntry = firstTask + shape.taskCount;
  const firstRow: number[] = [];
  const entryStart = [0];
  const target: number[] = [];
  const probability: number[] = [];
  const addNodeRow = (parent: number, task: number) => {
    const begin = target.length;
    let total = 0;
    for (let node = 0; node < nodeCount; node++) {
      if (parentByNode[node] !== parent || taskByGroup[groupByNode[node]!] !== task) continue;
      if (!(ratioByNode[node]! > 0)) continue;
      target.push(node);
      probability.push(ratioByNode[node]!);
      total += ratioByNode[node]!;
    }
    for (let entry = begin; entry < target.length; entry++) probability[entry]! /= total;
    entryStart.push(target.length);
  };
  const addGroupRow = (task: number) => {
    for (let group = groupStart[task]!; group < groupStart[task + 1]!; group++) {
      target.push(nodeCount + group);
      probability.push(0);
    }
    entryStart.push(target.length);
  };
  const addState = (next: Uint32Array, addRow: (task: number) => void) => {
    firstRow.push(entryStart.length - 1);
    for (const task of next) addRow(task);
  };
  const childrenOf = (task: number) =>
    shape.childTask.subarray(shape.childStart[task]!, shape.childStart[task + 1]!);
  for (let node = 0; node < nodeCount; node++) {
    const task = taskByGroup[groupByNode[node]!]!;
    addState(childrenOf(task), (child) => addNodeRow(node, child));
  }
  for (const task of taskByGroup) addState(childrenOf(task), addGroupRow);
  for (let task = 0; task < shape.taskCount; task++) addState(childrenOf(task), addGroupRow);
  addState(shape.entryTasks, (task) => addNodeRow(NONE, task));
  addState(shape.entryTasks, addGroupRow);
  const groupByState = new Int32Array(planEntry + 2).fill(NONE);
  groupByState.set(groupByNode, 0);
  for (let group = 0; group < groupCount; group++) groupByState[nodeCount + group] = group;
  return {
    firstGroup: nodeCount,
    firstTask,
    planEntry,
    groupEntry: planEntry + 1,
    firstRow: Uint32Array.from(firstRow),
    entryStart: Uint32Array.from(entryStart),
    target: Uint32Array.from(target),
    probability: Float64Array.from(probability),
    credit: new Float64Array(target.length),
    groupByState,
  };
}

/**
 * The next target of a row that has any: smooth weighted round-robin. After n queries each target
 * has had its probability times n, to within one, where independent draws would stray by √n and
 * leave a queue to the others. Ties go to the first.
 */
export function pickTarget(rows: RoutingRows, row: number): number {
  const { entryStart, target, probability, credit } = rows;
  const begin = entryStart[row]!;
  const end = entryStart[row + 1]!;
  if (end === begin + 1) return target[begin]!;
  let best = begin;
  let bestCredit = Number.NEGATIVE_INFINITY;
  for (let entry = begin; entry < end; entry++) {
    const share = probability[entry]!;
    if (share === 0) continue;
    const sum = credit[entry]! + share;
    credit[entry] = sum;
    if (sum > bestCredit) {
      best = entry;
      bestCredit = sum;
    }
  }
  credit[best]! -= 1;
  return target[best]!;
}

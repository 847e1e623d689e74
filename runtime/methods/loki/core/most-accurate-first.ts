/** Routes queries to the most accurate servers first (Loki §5.1). */
import type { PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import type { PlanLayout } from "./plan-layout.ts";

/** Queries per second that are rounding. */
const ROUNDING_QPS = 1e-7;

/** Results of `mostAccurateFirst` besides the rows; reused from one run to the next. */
export interface Flows {
  /** Queries per second that are sent to a group, [groupCount]. */
  readonly incomingQps: Float64Array;
  /** Queries per second that a group could get beyond that: Loki's backup table, [groupCount]. */
  readonly leftoverQps: Float64Array;
  /** Queries per second of a task beyond the capacity of its groups, [taskCount]. */
  readonly excessQps: Float64Array;
  /** Scratch: limit of what the algorithm may send to a group, [groupCount]. */
  readonly limitQps: Float64Array;
  /** Scratch: [taskCount] */
  readonly totalQps: Float64Array;
}

export function flowsFor(shape: PipelineShape, groupCount: number): Flows {
  return {
    incomingQps: new Float64Array(groupCount),
    leftoverQps: new Float64Array(groupCount),
    excessQps: new Float64Array(shape.taskCount),
    limitQps: new Float64Array(groupCount),
    totalQps: new Float64Array(shape.taskCount),
  };
}

/**
 * Sets the probabilities of the rows that lead to groups: from the entries on, each group's queries
 * go to the most accurate groups of the next task that have capacity left. Source: Loki §5.1,
 * algorithm 1, with these differences:
 * - it deals with groups instead of servers, and groups of equal accuracy are filled in proportion,
 *   so that equal servers have equal loads;
 * - what a task gets beyond its capacity is first made less: an earlier task sends part of its
 *   queries to a group that has capacity left and leads to fewer of them, where that costs the
 *   least accuracy for each;
 * - what is in excess then is spread over the groups of the task in proportion to their capacity,
 *   and reported: it is for the driver of the algorithm to admit fewer requests. Dropping it on the
 *   way would cost every request that has one of the dropped queries.
 * @param fanout as `shape.fanout`.
 * @param capacityQps of each group.
 * @param fillRatio part of a group's capacity that is filled before the next group's; the rest of
 * all is used, in proportion, when that is not enough.
 * @param flows filled.
 * @returns the share of the demand that fits.
 */
export function mostAccurateFirst(
  shape: PipelineShape,
  layout: PlanLayout,
  demandQps: number,
  fanout: Float64Array,
  capacityQps: Float64Array,
  fillRatio: number,
  flows: Flows,
): number {
  const { limitQps, excessQps, totalQps } = flows;
  const groupCount = layout.groupCount;
  for (let group = 0; group < groupCount; group++)
    limitQps[group] = fillRatio * capacityQps[group]!;
  // Each shift empties a group, fills one or ends an excess.
  for (let shifts = 2 * groupCount + shape.taskCount; shifts >= 0; shifts--) {
    fill(shape, layout, demandQps, fanout, capacityQps, flows);
    let isShifted = false;
    for (let task = 0; task < shape.taskCount && !isShifted; task++) {
      if (excessQps[task]! > ROUNDING_QPS * (1 + totalQps[task]!)) {
        isShifted = shift(shape, layout, fanout, fillRatio, capacityQps, flows, task);
      }
    }
    if (!isShifted) break;
  }
  let share = 1;
  for (let task = 0; task < shape.taskCount; task++) {
    if (excessQps[task]! <= ROUNDING_QPS * (1 + totalQps[task]!)) continue;
    share = Math.min(share, 1 - excessQps[task]! / totalQps[task]!);
  }
  return share;
}

/** One pass from the entries to the leaves. */
function fill(
  shape: PipelineShape,
  layout: PlanLayout,
  demandQps: number,
  fanout: Float64Array,
  capacityQps: Float64Array,
  flows: Flows,
): void {
  const { incomingQps, leftoverQps, limitQps, excessQps, totalQps } = flows;
  const { groupStart, rows, variantByGroup, groupCount } = layout;
  const { childStart, childTask, fanoutStart } = shape;
  incomingQps.fill(0);
  totalQps.fill(0);
  for (let group = 0; group < groupCount; group++) leftoverQps[group] = limitQps[group]!;
  for (let ordinal = 0; ordinal < shape.entryTasks.length; ordinal++) {
    const task = shape.entryTasks[ordinal]!;
    const outgoing = demandQps * shape.entryShareByTask[task]!;
    const row = rows.firstRow[rows.groupEntry]! + ordinal;
    fillRow(layout, task, row, outgoing, capacityQps, flows);
  }
  for (let task = 0; task < shape.taskCount; task++) {
    const begin = childStart[task]!;
    const end = childStart[task + 1]!;
    if (begin === end) continue;
    for (let group = groupStart[task]!; group < groupStart[task + 1]!; group++) {
      for (let edge = begin; edge < end; edge++) {
        const mean = fanout[fanoutStart[variantByGroup[group]!]! + edge - begin]!;
        const row = rows.firstRow[rows.firstGroup + group]! + edge - begin;
        fillRow(layout, childTask[edge]!, row, incomingQps[group]! * mean, capacityQps, flows);
      }
    }
    for (let edge = begin; edge < end; edge++) {
      const row = rows.firstRow[rows.firstTask + task]! + edge - begin;
      shareByIncoming(layout, childTask[edge]!, row, capacityQps, incomingQps);
    }
  }
  for (let task = 0; task < shape.taskCount; task++) {
    let capacity = 0;
    for (let group = groupStart[task]!; group < groupStart[task + 1]!; group++) {
      capacity += capacityQps[group]!;
    }
    excessQps[task] = Math.max(0, totalQps[task]! - capacity);
  }
}

/** Sends the queries of one row to the groups of a task, the most accurate first. */
function fillRow(
  layout: PlanLayout,
  task: number,
  row: number,
  outgoing: number,
  capacityQps: Float64Array,
  flows: Flows,
): void {
  const { incomingQps, leftoverQps, totalQps } = flows;
  const { rows, accuracyByGroup, groupStart } = layout;
  const { probability } = rows;
  const begin = groupStart[task]!;
  const end = groupStart[task + 1]!;
  const toEntry = rows.entryStart[row]! - begin;
  totalQps[task]! += outgoing;
  if (!(outgoing > 0)) {
    // The plan expects no queries here; any go to the most accurate group that has capacity left.
    let free = begin;
    while (free < end - 1 && !(leftoverQps[free]! > 0)) free++;
    for (let group = begin; group < end; group++) {
      probability[toEntry + group] = group === free ? 1 : 0;
    }
    return;
  }
  let remaining = outgoing;
  for (let tier = begin; tier < end; ) {
    let tierEnd = tier;
    let free = 0;
    while (tierEnd < end && accuracyByGroup[tierEnd] === accuracyByGroup[tier]) {
      free += leftoverQps[tierEnd]!;
      tierEnd++;
    }
    const routed = remaining < free ? remaining : free;
    for (let group = tier; group < tierEnd; group++) {
      const qps = free > 0 ? (routed * leftoverQps[group]!) / free : 0;
      probability[toEntry + group] = qps / outgoing;
      incomingQps[group]! += qps;
      leftoverQps[group]! -= qps;
    }
    remaining -= routed;
    tier = tierEnd;
  }
  if (!(remaining > 0)) return;
  let capacity = 0;
  for (let group = begin; group < end; group++) capacity += capacityQps[group]!;
  for (let group = begin; group < end; group++) {
    const part = capacity > 0 ? capacityQps[group]! / capacity : 1 / (end - begin);
    probability[toEntry + group]! += (part * remaining) / outgoing;
    incomingQps[group]! += part * remaining;
  }
}

/** Returns the row of a task whose group is unknown: shared like all of its queries. */
function shareByIncoming(
  layout: PlanLayout,
  task: number,
  row: number,
  capacityQps: Float64Array,
  incomingQps: Float64Array,
): void {
  const { rows, groupStart } = layout;
  const begin = groupStart[task]!;
  const end = groupStart[task + 1]!;
  const toEntry = rows.entryStart[row]! - begin;
  let incoming = 0;
  let capacity = 0;
  for (let group = begin; group < end; group++) {
    incoming += incomingQps[group]!;
    capacity += capacityQps[group]!;
  }
  for (let group = begin; group < end; group++) {
    let share = 1 / (end - begin);
    if (incoming > 0) share = incomingQps[group]! / incoming;
    else if (capacity > 0) share = capacityQps[group]! / capacity;
    rows.probability[toEntry + group] = share;
  }
}

/**
 * Lowers the limit of one group before a task in excess, so that the next pass sends part of its
 * queries to groups that lead to fewer.
 * @returns whether there was one.
 */
function shift(
  shape: PipelineShape,
  layout: PlanLayout,
  fanout: Float64Array,
  fillRatio: number,
  capacityQps: Float64Array,
  flows: Flows,
  excessTask: number,
): boolean {
  const { parentByTask, ordinalByTask, fanoutStart } = shape;
  const { groupStart, variantByGroup, accuracyByGroup } = layout;
  const { incomingQps, leftoverQps, limitQps, excessQps } = flows;
  let perQuery = 1;
  let child = excessTask;
  for (let task = parentByTask[child]!; task >= 0; task = parentByTask[task]!) {
    const begin = groupStart[task]!;
    const end = groupStart[task + 1]!;
    const ordinal = ordinalByTask[child]!;
    let from = -1;
    let shiftQps = 0;
    let bestCost = Number.POSITIVE_INFINITY;
    for (let giver = begin; giver < end; giver++) {
      if (!(incomingQps[giver]! > ROUNDING_QPS)) continue;
      for (let taker = giver + 1; taker < end; taker++) {
        // A group whose limit was lowered has given queries away itself.
        if (
          !(leftoverQps[taker]! > ROUNDING_QPS) ||
          limitQps[taker]! < fillRatio * capacityQps[taker]!
        ) {
          continue;
        }
        const less =
          fanout[fanoutStart[variantByGroup[giver]!]! + ordinal]! -
          fanout[fanoutStart[variantByGroup[taker]!]! + ordinal]!;
        if (!(less > 0)) continue;
        const cost = (accuracyByGroup[giver]! - accuracyByGroup[taker]!) / less;
        if (!(cost < bestCost)) continue;
        bestCost = cost;
        from = giver;
        const needed = excessQps[excessTask]! / (less * perQuery);
        shiftQps = Math.min(incomingQps[giver]!, leftoverQps[taker]!, needed);
      }
    }
    if (from >= 0) {
      limitQps[from] = incomingQps[from]! - shiftQps;
      return true;
    }
    perQuery *= meanFanout(shape, layout, fanout, incomingQps, task, child);
    child = task;
  }
  return false;
}

/** Queries for a child per query of its parent task, over all groups. */
function meanFanout(
  shape: PipelineShape,
  layout: PlanLayout,
  fanout: Float64Array,
  incomingQps: Float64Array,
  task: number,
  child: number,
): number {
  const { groupStart, variantByGroup } = layout;
  let incoming = 0;
  let outgoing = 0;
  for (let group = groupStart[task]!; group < groupStart[task + 1]!; group++) {
    const start = shape.fanoutStart[variantByGroup[group]!]!;
    incoming += incomingQps[group]!;
    outgoing += incomingQps[group]! * fanout[start + shape.ordinalByTask[child]!]!;
  }
  return incoming > 0 && outgoing > 0 ? outgoing / incoming : 1;
}

/** Checks whether a point is integer, and where to branch if it is not. */
import type { NodeBounds, NodeSolution } from "./node-program.ts";
import type { SetLevel, SlotModel } from "./slots.ts";

/** Distance from an integer below which a number of servers counts as integer. */
export const WHOLE_TOLERANCE = 1e-7;

const LEVELS: readonly SetLevel[] = ["task", "group", "slot"];

/**
 * Servers by smallest set that a solution needs when each set is rounded up; null if a variant uses
 * several batch sizes and may not.
 */
export function wholeServers(
  model: SlotModel,
  { use, shareBySlot }: NodeSolution,
): Float64Array | null {
  const servers = new Float64Array(model.sets.length);
  const slotOf = new Int32Array(model.sets.length).fill(-1);
  for (const [id, { set }] of model.slots.entries()) {
    if ((shareBySlot[id] ?? 0) <= 0) continue;
    if ((slotOf[set] ?? -1) >= 0) return null;
    slotOf[set] = id;
    // A step that requests may take needs a server even if it sends on nothing.
    servers[set] = Math.max(1, Math.ceil((use[id] ?? 0) - WHOLE_TOLERANCE));
  }
  return servers;
}

/** Adds up the number of servers in every set, from the smallest sets. Changed in place. */
export function summedUp(model: SlotModel, bySet: Float64Array): Float64Array {
  for (let set = model.sets.length - 1; set > 0; set--) {
    const parent = model.sets[set]?.parent ?? 0;
    bySet[parent] = (bySet[parent] ?? 0) + (bySet[set] ?? 0);
  }
  return bySet;
}

type Halves = readonly [NodeBounds, NodeBounds];

/** A second batch size of a variant with fewer servers than this hardly moves the bound. */
const SECOND_BATCH_SERVERS = 0.5;

/**
 * Splits a node in two halves without its solution: a variant uses only some batch sizes, or a set
 * has at most or at least so many servers. Batch sizes come first, then tasks, as they move the
 * bound most: with batch sizes last some problems took a hundred times the nodes, and solving both
 * halves of several splits to choose one halved the nodes but not the time. Null if nothing is left
 * to split.
 */
export function branches(
  model: SlotModel,
  bounds: NodeBounds,
  solution: NodeSolution,
): Halves | null {
  const byBatch = byBatchSize(model, bounds, solution, SECOND_BATCH_SERVERS);
  if (byBatch !== null) return byBatch;
  const bySet = solution.idle.slice();
  for (const [id, { set }] of model.slots.entries()) {
    bySet[set] = (bySet[set] ?? 0) + (solution.use[id] ?? 0);
  }
  summedUp(model, bySet);
  for (const level of LEVELS) {
    const set = mostFractional(model, level, bySet);
    if (set !== null) return bySetCount(model, bounds, set, Math.floor(bySet[set] ?? 0));
  }
  return byBatchSize(model, bounds, solution, 0) ?? byUse(model, bounds, solution, bySet);
}

function mostFractional(model: SlotModel, level: SetLevel, bySet: Float64Array): number | null {
  let best: number | null = null;
  let most = WHOLE_TOLERANCE;
  for (const [set, { level: at }] of model.sets.entries()) {
    if (at !== level) continue;
    const count = bySet[set] ?? 0;
    const distance = Math.abs(count - Math.round(count));
    if (distance > most) {
      most = distance;
      best = set;
    }
  }
  return best;
}

function bySetCount(
  { sets }: SlotModel,
  { lower, upper, isBanned }: NodeBounds,
  set: number,
  count: number,
): Halves {
  const more = { lower: new Map(lower).set(set, count + 1), upper, isBanned };
  if (count > 0) return [{ lower, upper: new Map(upper).set(set, count), isBanned }, more];
  const banned = isBanned.slice();
  for (const id of sets[set]?.slots ?? []) banned[id] = 1;
  return [{ lower, upper, isBanned: banned }, more];
}

/**
 * Splits the batch sizes of a variant that uses several between the slowest and the fastest in use.
 */
function byBatchSize(
  { sets, slots }: SlotModel,
  { lower, upper, isBanned }: NodeBounds,
  { shareBySlot, use }: NodeSolution,
  least: number,
): Halves | null {
  let fast: readonly number[] = [];
  let slow: readonly number[] = [];
  let most = -1;
  for (const [set, { slots: members, level }] of sets.entries()) {
    if (level !== "group" || slots[members[0] ?? 0]?.set !== set) continue;
    const used = members.filter((id) => (shareBySlot[id] ?? 0) > 0);
    if (used.length < 2) continue;
    const second = used.map((id) => use[id] ?? 0).sort((one, other) => other - one)[1] ?? 0;
    if (second < least || second <= most) continue;
    most = second;
    const split = members.indexOf(used[1] ?? 0);
    fast = members.slice(0, split);
    slow = members.slice(split);
  }
  if (most < 0) return null;
  const without = (banned: readonly number[]): NodeBounds => {
    const copy = isBanned.slice();
    for (const id of banned) copy[id] = 1;
    return { lower, upper, isBanned: copy };
  };
  return [without(slow), without(fast)];
}

/** Splits on whether a step without queries has a server, or is not taken. */
function byUse(
  model: SlotModel,
  bounds: NodeBounds,
  { shareBySlot }: NodeSolution,
  bySet: Float64Array,
): Halves | null {
  for (const [id, { set }] of model.slots.entries()) {
    if ((shareBySlot[id] ?? 0) <= 0 || (bySet[set] ?? 0) > 0.5) continue;
    return bySetCount(model, bounds, set, 0);
  }
  return null;
}

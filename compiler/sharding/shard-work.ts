/**
 * What of a compile is whose: whole levels while there are enough of them, else branches of them.
 *
 * Of a list with fewer levels than shards, shards take levels in turn, and those of one level take
 * its branches in turn. A level with one shard is searched whole, as are all levels of methods
 * whose searches are not divided. It follows from the header of a part alone.
 */
import { ALL_BRANCHES, type BranchShare } from "../model/root-branches.ts";
import type { Loads } from "../spec/application.ts";
import { type Shard, shareOfList } from "./shard.ts";

export type ShardWork =
  /** A share of the range in which levels place themselves. */
  | { readonly kind: "range" }
  /** Perhaps none. */
  | { readonly kind: "levels"; readonly loadsQps: readonly number[] }
  | { readonly kind: "branches"; readonly loadQps: number; readonly share: BranchShare };

/** @param divides whether the method divides the search of a level. */
export function workOf(loads: Loads, shard: Shard, divides: boolean): ShardWork {
  if (loads.kind === "adaptive") return { kind: "range" };
  const { qps } = loads;
  const share = divides ? shareOfLevel(qps.length, shard) : ALL_BRANCHES;
  const loadQps = qps[(shard.number - 1) % qps.length];
  if (share.of === 1 || loadQps === undefined) {
    return { kind: "levels", loadsQps: shareOfList(qps, shard) };
  }
  return { kind: "branches", loadQps, share };
}

/** Which of the shards of its level one is, and of how many. */
function shareOfLevel(levels: number, { number, of }: Shard): BranchShare {
  const level = (number - 1) % levels;
  return {
    number: Math.floor((number - 1) / levels) + 1,
    of: Math.max(1, Math.ceil((of - level) / levels)),
  };
}

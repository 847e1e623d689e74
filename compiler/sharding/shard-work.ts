/**
 * Divides a compile into shards: whole levels if there are enough, otherwise branches of their
 * search. If there are fewer levels than shards, shards take levels in turn, and the shards of a
 * level take its branches in turn. A level with one shard is searched whole, as are levels of
 * methods that cannot divide searches. The division follows from the header of a part alone.
 */
import { ALL_BRANCHES, type BranchShare } from "../model/root-branches.ts";
import type { Loads } from "../spec/application.ts";
import { type Shard, shareOfList } from "./shard.ts";

export type ShardWork =
  /** Share of a range with adaptive placement of levels. */
  | { readonly kind: "range" }
  /** May be empty. */
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

/** Returns the position of a shard among those of its level. */
function shareOfLevel(levels: number, { number, of }: Shard): BranchShare {
  const level = (number - 1) % levels;
  return {
    number: Math.floor((number - 1) / levels) + 1,
    of: Math.max(1, Math.ceil((of - level) / levels)),
  };
}

/** Progress of the shards of a compile. */
import type { Loads } from "../spec/application.ts";
import { type Fleet, type PresentPart, shardsText } from "./fleet.ts";
import { type ShardWork, workOf } from "./shard-work.ts";

type ShardState = "done" | "unfinished" | "lost" | "double";

export interface ShardStatus {
  readonly shard: number;
  readonly state: ShardState;
  /** Paths as given; empty for a lost shard. */
  readonly paths: readonly string[];
  readonly levels: number;
  /** Levels that it solves with its first margin; null if the placement of levels is adaptive. */
  readonly planned: number | null;
  /** Solved branches of a level that several shards search; null if it searches alone. */
  readonly branches: number | null;
  /** Load of that level; null if there is no shared level. */
  readonly branchesOfQps: number | null;
  /** Solve time on all its processors together, ms. */
  readonly solveMs: number;
  /** Time since the last write, ms; null if it is lost. */
  readonly quietMs: number | null;
}

export interface FleetStatus {
  readonly isComplete: boolean;
  readonly shards: readonly ShardStatus[];
  readonly levels: number;
  readonly solveMs: number;
}

/** @param epochMs current time. */
export function statusOf({ of, header, byShard }: Fleet, epochMs: number): FleetStatus {
  const { divides, source } = header;
  const { loads } = source.application;
  const shards = Array.from({ length: of }, (_, index) => {
    const number = index + 1;
    return shardStatus(number, byShard.get(number) ?? [], { loads, divides, of, epochMs });
  });
  return {
    isComplete: shards.every(({ state }) => state === "done"),
    shards,
    levels: shards.reduce((sum, { levels }) => sum + levels, 0),
    solveMs: shards.reduce((sum, { solveMs }) => sum + solveMs, 0),
  };
}

interface Around {
  readonly loads: Loads;
  readonly divides: boolean;
  readonly of: number;
  readonly epochMs: number;
}

function shardStatus(
  number: number,
  parts: readonly PresentPart[],
  { loads, divides, of, epochMs }: Around,
): ShardStatus {
  const [first] = parts;
  const levels = first?.part.levels ?? [];
  const work = workOf(loads, { number, of }, divides);
  const writtenMs = first?.writtenMs ?? null;
  return {
    shard: number,
    state: stateOf(parts),
    paths: parts.map(({ path }) => path),
    levels: levels.length,
    planned: plannedLevels(work),
    branches: work.kind === "branches" ? (first?.part.branches.length ?? 0) : null,
    branchesOfQps: work.kind === "branches" ? work.loadQps : null,
    solveMs: levels.reduce((sum, { ms }) => sum + ms, 0),
    quietMs: writtenMs === null ? null : Math.max(0, epochMs - writtenMs),
  };
}

function plannedLevels(work: ShardWork): number | null {
  if (work.kind === "range") return null;
  return work.kind === "levels" ? work.loadsQps.length : 0;
}

function stateOf([first, second]: readonly PresentPart[]): ShardState {
  if (first === undefined) return "lost";
  if (second !== undefined) return "double";
  return first.part.isWhole ? "done" : "unfinished";
}

/** Returns a line for each state of shards except done. */
export function openShards({ shards }: FleetStatus): string[] {
  const states = ["unfinished", "lost", "double"] as const;
  return states.flatMap((state) => {
    const numbers = shards.filter((one) => one.state === state).map(({ shard }) => shard);
    const verb = numbers.length === 1 ? "is" : "are";
    return numbers.length === 0 ? [] : [`${shardsText(numbers)} ${verb} ${state}`];
  });
}

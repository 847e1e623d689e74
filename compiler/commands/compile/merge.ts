/**
 * Implements `stratagem merge PART… -o BUNDLE`, which combines the parts of a compile on several
 * machines, and `--status`.
 */

import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { counted, explainedTable } from "stratagem-runtime/internal/describe/text";
import { expectWritable } from "../../base/atomic-write.ts";
import { methodOf } from "../../methods/registry.ts";
import { expectWhole, type Fleet, fleetOfParts } from "../../sharding/fleet.ts";
import {
  type FleetStatus,
  openShards,
  type ShardStatus,
  statusOf,
} from "../../sharding/fleet-status.ts";
import { loadedOf, type Merged, mergeParts } from "../../sharding/merge-parts.ts";
import { readParts } from "../../sharding/read-parts.ts";
import { type CompileCommand, finishCompile } from "./compile.ts";
import { openLevelSolver } from "./level-solvers.ts";

interface MergeCommand
  extends Pick<CompileCommand, "out" | "check" | "requirements" | "compiler" | "pool" | "nowMs"> {
  readonly parts: readonly string[];
}

export async function mergeCommand(command: MergeCommand): Promise<CommandResult> {
  const { parts, out, check, compiler, pool, nowMs } = command;
  const startMs = nowMs();
  const fleet = fleetOfParts(await readParts(parts));
  const whole = expectWhole(fleet);
  if (!check) await expectWritable(out);
  const loaded = loadedOf(fleet.header);
  const method = await methodOf(loaded.application.policy);
  const merged = await mergeParts(
    whole,
    { compiler, openLevelSolver: (frame) => openLevelSolver(frame, method, pool, nowMs) },
    method,
  );
  const finished = await finishCompile(merged, { loaded, method, command, startMs });
  return {
    ...finished,
    text: [finished.text, ...mergedLines(fleet, merged)].join("\n"),
    json: { ...finished.json, merged: mergedReport(fleet, merged) },
  };
}

function mergedLines({ of }: Fleet, merged: Merged): string[] {
  const { solvedHere, searchedHere, differing } = merged;
  const were = solvedHere === 1 ? "was" : "were";
  const here = `${counted(solvedHere, "level")} missing in the parts ${were}`;
  return [
    `merged from ${counted(of, "part")}`,
    ...(solvedHere === 0 ? [] : [`${here} solved here`]),
    ...(searchedHere === 0
      ? []
      : [`${counted(searchedHere, "branch", "branches")} missing in the parts were searched here`]),
    ...(differing === 0
      ? []
      : [
          `${counted(differing, "level")} differ between parts, which can happen if a time limit ` +
            "ends a search; the part of the first shard is used",
        ]),
  ];
}

function mergedReport({ of }: Fleet, { solvedHere, searchedHere, differing }: Merged): object {
  return { shards: of, solvedHere, searchedHere, differing };
}

/** @param epochMs current time. */
export async function mergeStatusCommand(
  parts: readonly string[],
  epochMs: number,
): Promise<CommandResult> {
  const fleet = fleetOfParts(await readParts(parts));
  const status = statusOf(fleet, epochMs);
  const { application } = fleet.header.source;
  const done = status.shards.filter(({ state }) => state === "done").length;
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${application.name}: ${done} of ${counted(fleet.of, "shard")} done, ` +
        `${counted(status.levels, "level")} in ${secondsText(status.solveMs)} of solving`,
      "",
      statusTable(status),
      "",
      ...(status.isComplete ? ["all parts are complete"] : openShards(status)),
    ].join("\n"),
    json: {
      application: application.name,
      method: application.policy.method,
      compile: fleet.header.fleet,
      complete: status.isComplete,
      of: fleet.of,
      done,
      levels: status.levels,
      solveMs: status.solveMs,
      shards: status.shards,
      absent: fleet.absent,
    },
  };
}

function statusTable({ shards }: FleetStatus): string {
  return explainedTable([["shard", "state", "levels", "solving", "written"], ...shards.map(rowOf)]);
}

function rowOf(status: ShardStatus): string[] {
  const { shard, state, solveMs, quietMs } = status;
  const ago = quietMs === null ? "-" : `${secondsText(quietMs)} ago`;
  return [`${shard}`, state, doneText(status), secondsText(solveMs), ago];
}

function doneText({ state, levels, planned, branches, branchesOfQps }: ShardStatus): string {
  if (branches !== null)
    return `${counted(branches, "branch", "branches")} at ${branchesOfQps} qps`;
  return planned === null || state === "lost" ? `${levels}` : `${levels} of ${planned}`;
}

function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 100_000 ? 1 : 0)} s`;
}

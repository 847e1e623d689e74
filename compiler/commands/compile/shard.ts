/**
 * Implements `stratagem compile APP --shard i/N -o PART`: the share of one machine, for `merge`.
 */

import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { counted } from "stratagem-runtime/internal/describe/text";
import { expectWritable, writeAllAtomically } from "../../base/atomic-write.ts";
import { InterruptedError } from "../../base/errors.ts";
import { plannedApplications } from "../../levels/compile.ts";
import type { CompilerMethod } from "../../methods/method.ts";
import { KnownLevels } from "../../sharding/known-levels.ts";
import { fleetOf, type PartHeader, sha256 } from "../../sharding/part.ts";
import { partText } from "../../sharding/part-text.ts";
import { PartialPart, partialPath } from "../../sharding/partial-part.ts";
import { type Shard, shardText } from "../../sharding/shard.ts";
import { workOf } from "../../sharding/shard-work.ts";
import { type Share, solveShare } from "../../sharding/solve-share.ts";
import type { LoadedApplication } from "../../spec/load-application.ts";
import { pathsBeside } from "./bundle-files.ts";
import {
  type CompileCommand,
  loadAsked,
  type OpenedApplication,
  openApplication,
} from "./compile.ts";

interface CompileShardCommand extends Omit<CompileCommand, "check" | "requirements"> {
  readonly shard: Shard;
}

export async function compileShardCommand(command: CompileShardCommand): Promise<CommandResult> {
  const { out, pool, nowMs } = command;
  const startMs = nowMs();
  const { loaded, method } = await loadAsked(command);
  await expectWritable(out);
  const opened = await openApplication(loaded, method, command);
  const header = headerOf(loaded, opened, method, command);
  const partial = await PartialPart.open(out, header);
  const share = await solvedShare(loaded, opened, method, { command, partial });
  const text = partText({ header, ...share });
  const bytes = Buffer.from(text);
  const written = [...pathsBeside(out, share.files), { path: out, bytes }];
  await writeAllAtomically(written, pool.signal);
  await partial.remove();
  return report(command, header, share, { bytes, compileMs: nowMs() - startMs, partial });
}

function headerOf(
  loaded: LoadedApplication,
  { models }: OpenedApplication,
  method: CompilerMethod,
  { app, compiler, shard }: CompileShardCommand,
): PartHeader {
  const source = { application: loaded.application, inputs: loaded.inputs, models };
  for (const planned of plannedApplications(loaded, method)) {
    const frame = method.frame(planned, models);
    const fleet = fleetOf(compiler, source, frame);
    return { shard, app, compiler, fleet, divides: method.dividesSearch(frame), source };
  }
  throw new RangeError("expected a planned application");
}

interface Solving {
  readonly command: CompileShardCommand;
  readonly partial: PartialPart;
}

/** Keeps the solved levels for the next attempt, also after errors. */
async function solvedShare(
  loaded: LoadedApplication,
  opened: OpenedApplication,
  method: CompilerMethod,
  { command, partial }: Solving,
): Promise<Share> {
  const known = new KnownLevels();
  for (const level of partial.kept.levels) known.add(level);
  for (const branch of partial.kept.branches) known.addBranch(branch);
  const { shard, out } = command;
  const onLevel = partial.add.bind(partial);
  const onBranch = partial.addBranch.bind(partial);
  try {
    return await solveShare(loaded, { ...opened, shard, known, onLevel, onBranch }, method);
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error;
    const kept = `${partialPath(out)} keeps the solved levels; run the same command to continue`;
    throw new InterruptedError(`interrupted; ${kept}`);
  } finally {
    await partial.close();
  }
}

interface Written {
  readonly bytes: Uint8Array;
  readonly compileMs: number;
  readonly partial: PartialPart;
}

function report(
  { out, shard }: CompileShardCommand,
  { source: { application }, fleet, divides }: PartHeader,
  { levels, branches, files }: Share,
  { bytes, compileMs, partial }: Written,
): CommandResult {
  const digest = sha256(bytes);
  const kept = partial.kept.levels.length;
  const keptBranches = partial.kept.branches.length;
  const work = workOf(application.loads, shard, divides);
  const done =
    work.kind === "branches"
      ? `${branchesText(branches.length)} of the level at ${work.loadQps} qps`
      : counted(levels.length, "level");
  const of = `shard ${shardText(shard)} of ${application.name}`;
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${out}: ${of}, ${done}, ${bytes.length} bytes, compiled in ${Math.round(compileMs)} ms`,
      ...(kept === 0 ? [] : [`${counted(kept, "level")} from an earlier run`]),
      ...(keptBranches === 0 ? [] : [`${branchesText(keptBranches)} from an earlier run`]),
      ...(files.length === 0 ? [] : [`${counted(files.length, "stage file")} beside it`]),
      "run stratagem merge with the parts of all shards to make the bundle",
    ].join("\n"),
    json: {
      part: { path: out, bytes: bytes.length, sha256: digest },
      shard: shard.number,
      of: shard.of,
      application: application.name,
      method: application.policy.method,
      compile: fleet,
      compileMs,
      levels: levels.map(({ level, ms }) => ({ loadQps: level.loadQps, ms })),
      branches: branches.length,
      kept,
      keptBranches,
      stages: files.map(({ file, sha256: content }) => ({ file, sha256: content })),
    },
  };
}

function branchesText(count: number): string {
  return counted(count, "branch", "branches");
}

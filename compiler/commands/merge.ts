/** Command `merge`: completes a compile on several machines. */

import { type Command, Option } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { withRequirements } from "./options.ts";
import type { Tools, Watch } from "./watched.ts";

interface MergeFlags {
  readonly out?: string;
  readonly status?: true;
  readonly check?: boolean;
  readonly require?: string;
}

export function addMerge(program: Command, tools: Tools): void {
  const command = program
    .command("merge")
    .description("combine parts of compile --shard into a bundle, or show their progress")
    .argument("<parts...>", "parts of all shards, in any order")
    .option("-o, --out <file>", "output file of the bundle")
    .addOption(
      new Option(
        "--status",
        "show the progress of each shard, including unfinished ones",
      ).conflicts(["out", "check", "require"]),
    );
  withRequirements(command).action((parts: string[], flags: MergeFlags) => {
    return merge(parts, flags, tools);
  });
}

async function merge(
  parts: readonly string[],
  { out, status, check = false, require }: MergeFlags,
  { watched, print, compiler, nowMs, epochMs }: Tools,
): Promise<void> {
  const { mergeCommand, mergeStatusCommand } = await import("./compile/merge.ts");
  if (status === true) {
    print(await mergeStatusCommand(parts, epochMs()));
    return;
  }
  if (out === undefined) {
    const expected = "expected -o FILE for the bundle, or --status";
    throw new RuntimeError("RUNTIME_USAGE", `merge: ${expected}, got neither`);
  }
  const { requirementsAsked } = await import("../gate/required-outcome.ts");
  const requirements = requirementsAsked(require);
  const command = { parts, out, check, requirements, compiler, nowMs };
  const jobs = parallelism();
  const run = (watch: Watch) => mergeCommand({ ...command, pool: { jobs, ...watch } });
  print(await watched("merging", run));
}

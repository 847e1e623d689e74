/** The command `merge`, which ends a compile on many machines. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
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
    .description("make the bundle of parts that compile --shard wrote, or say how far they are")
    .argument("<parts...>", "parts of all shards, in any order")
    .option("-o, --out <file>", "where to write the bundle")
    .addOption(
      new Option(
        "--status",
        "say how far each shard is, also those that are not finished",
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
    const expected = "expected -o FILE, where to write the bundle, or --status";
    throw new RuntimeError("RUNTIME_USAGE", `merge: ${expected}, got neither`);
  }
  const { requirementsAsked } = await import("../gate/required-outcome.ts");
  const requirements = requirementsAsked(require);
  const command = { parts, out, check, requirements, compiler, nowMs };
  const jobs = availableParallelism();
  const run = (watch: Watch) => mergeCommand({ ...command, pool: { jobs, ...watch } });
  print(await watched("merging", run));
}

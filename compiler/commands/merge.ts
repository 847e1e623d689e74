/** The command that ends a compile on many machines: `merge`. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/command-line";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import type { CompileTools } from "./compile.ts";
import { joined } from "./option-values.ts";
import type { Watch } from "./watched.ts";

interface MergeFlags {
  readonly out?: string;
  readonly status?: true;
  readonly jobs: number;
  readonly check?: boolean;
  readonly require?: string | false;
}

interface MergeTools extends CompileTools {
  /** Since 1970. */
  readonly epochMs: () => number;
}

export function addMerge(program: Command, tools: MergeTools): void {
  program
    .command("merge")
    .description("make the bundle of parts that compile --shard wrote, or say how far they are")
    .argument("<parts...>", "parts of all shards, in any order")
    .option("-o, --out <file>", "where to write the bundle")
    .addOption(
      new Option(
        "--status",
        "say how far each shard is, also those that are not finished",
      ).conflicts(["out", "check", "require"]),
    )
    .option("--jobs <n>", "levels to solve at a time", wholeNumber, availableParallelism())
    .option("--check", "write nothing; exit with 2, and say why, if the file would be another")
    .option(
      "--require <promises>",
      "write nothing and exit with 3 if a promise is broken, as compile has it (repeatable)",
      joined,
    )
    .option("--no-require", "also write what breaks the requirements of the spec")
    .option("--json", "one JSON document on stdout")
    .action((parts: string[], flags: MergeFlags) => merge(parts, flags, tools));
}

async function merge(
  parts: readonly string[],
  { out, status, jobs, check = false, require }: MergeFlags,
  { watched, print, compiler, nowMs, epochMs }: MergeTools,
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
  const run = (watch: Watch) => mergeCommand({ ...command, pool: { jobs, ...watch } });
  print(await watched("merging", run));
}

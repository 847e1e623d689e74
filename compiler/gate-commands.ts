/** The commands that CI runs on a spec and on what became of its promises: `compile`, `gate`. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { CompileSources } from "./commands/compile.ts";
import type { GateOptions } from "./commands/gate.ts";
import { SOLVER_NAMES, type SolverName } from "./methods/solver-names.ts";
import {
  joined,
  MODEL_MEMORY,
  type ModelFlags,
  memoryBytes,
  modelLimitsOf,
  modelTimeout,
  shardOption,
} from "./option-values.ts";
import type { LevelPoolOptions } from "./processes/level-pool.ts";
import type { Shard } from "./sharding/shard.ts";
import { type Clock, MORTAL, type Watch, type Watched } from "./watched.ts";

/** What the program has that these commands need. */
export interface GateTools extends Pick<Clock, "nowMs"> {
  readonly watched: Watched;
  readonly print: (result: CommandResult) => void;
  /** As provenance names it. */
  readonly compiler: string;
}

interface CompileFlags extends ModelFlags {
  readonly out: string;
  readonly jobs: number;
  readonly solver?: SolverName;
  readonly profile?: string;
  readonly fanouts?: string;
  readonly check?: true;
  readonly require?: string | false;
  readonly shard?: Shard;
}

export function addCompile(program: Command, { watched, print, compiler, nowMs }: GateTools): void {
  program
    .command("compile")
    .description("compile an application spec and its profiles into a policy bundle")
    .argument("<app>", "application spec, YAML or JSON")
    .requiredOption("-o, --out <file>", "where to write the bundle")
    .option("--jobs <n>", "levels to solve at a time", wholeNumber, availableParallelism())
    .addOption(
      new Option(
        "--solver <name>",
        "how to solve: value-iteration for ramsis; of loki instead of the policy's: auto, " +
          "glpk or highs",
      ).choices(SOLVER_NAMES),
    )
    .option("--profile <file>", "profile in place of those that the spec names")
    .option("--fanouts <file>", "metrics of a server of the pipeline, for the fan-outs it observed")
    .option("--model-memory <bytes>", MODEL_MEMORY, memoryBytes)
    .addOption(modelTimeout())
    .option("--check", "write nothing; exit with 2, and say why, if the file would be another")
    .option(
      "--require <promises>",
      "write nothing and exit with 3 if a promise is broken, such as 'feasible; " +
        "violations <= ceiling; accuracy >= 97% @ 1000; cost <= 3/h; bytes <= 2MiB' (repeatable)",
      joined,
    )
    .option("--no-require", "also write what breaks the requirements of the spec")
    .addOption(shardOption())
    .option("--all-errors", "show all that is wrong with the spec, however much it is")
    .option("--json", "one JSON document on stdout")
    .action(async (app: string, options: CompileFlags) => {
      const command = await compileCommandOf(app, options);
      const { ModelReader } = await import("stratagem-runtime/internal/exec/model-reader");
      const run = async (watch: Watch) => {
        const pool: LevelPoolOptions = { jobs: options.jobs, ...watch };
        const modelReader = new ModelReader(modelLimitsOf(options), pool.signal);
        try {
          return await command({ compiler, nowMs, modelReader, pool });
        } finally {
          modelReader.close();
        }
      };
      print(await watched("solving levels", run));
    });
}

/** What is to be run: the whole compile, or a share of it. */
async function compileCommandOf(
  app: string,
  options: CompileFlags,
): Promise<(sources: CompileSources) => Promise<CommandResult>> {
  const { out, shard, solver = null, fanouts = null, check = false, profile = null } = options;
  const asked = { app, out, solver, profile, fanouts };
  if (shard !== undefined) {
    const { compileShardCommand } = await import("./commands/compile-shard.ts");
    return (sources) => compileShardCommand({ ...asked, ...sources, shard });
  }
  const { compileCommand } = await import("./commands/compile.ts");
  const { requirementsAsked } = await import("./gate/required-outcome.ts");
  const requirements = requirementsAsked(options.require);
  return (sources) => compileCommand({ ...asked, ...sources, check, requirements });
}

export function addGate(program: Command, { watched, print, compiler, nowMs }: GateTools): void {
  program
    .command("gate")
    .description("compare the promises of two bundles; exit with 3 if one became worse")
    .argument("<old>", "policy bundle that is in force")
    .argument("<new>", "policy bundle that is to follow it")
    .option(
      "--allow <tolerances>",
      "what may become worse, such as 'accuracy 0.5%; violations 0.1%; cost 5%; p99 2ms @ 1000' " +
        "(repeatable)",
      joined,
    )
    .option(
      "--require <promises>",
      "of the new one, as compile has it, such as 'feasible; accuracy >= 97%' (repeatable)",
      joined,
    )
    .option("--markdown", "print the comparison as Markdown, for a pull request")
    .option("--junit <file>", "write it as JUnit XML too, a test case for each promise")
    .option("--sarif <file>", "write what became worse as SARIF too")
    .option("--spec <file>", "spec of the new bundle, whose lines SARIF then names")
    .option("--json", "one JSON document on stdout")
    .action(async (before: string, after: string, flags: Omit<GateOptions, "before" | "after">) => {
      const { gateCommand } = await import("./commands/gate.ts");
      const options = { ...flags, before, after };
      const run = (watch: Watch) =>
        gateCommand(options, { jobs: availableParallelism(), nowMs, ...watch }, compiler);
      print(await watched("simulating", run, MORTAL));
    });
}

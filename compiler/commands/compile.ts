/** The command `compile`: the whole of it, or a share. */
import { availableParallelism } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { CompileSources } from "./compile/compile.ts";
import { SOLVER_NAMES, type SolverName } from "../methods/solver-names.ts";
import {
  MODEL_MEMORY,
  type ModelFlags,
  memoryBytes,
  modelLimitsOf,
  modelTimeout,
} from "./model-options.ts";
import { joined } from "./option-values.ts";
import type { LevelPoolOptions } from "../processes/level-pool.ts";
import { MAX_SHARDS, readShard, type Shard } from "../sharding/shard.ts";
import type { Clock, Watch, Watched } from "./watched.ts";

/** What the program has that these commands need. */
export interface CompileTools extends Pick<Clock, "nowMs"> {
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

export function addCompile(
  program: Command,
  { watched, print, compiler, nowMs }: CompileTools,
): void {
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
      const { LateModelReader } = await import("./compile/late-model-reader.ts");
      const run = async (watch: Watch) => {
        const pool: LevelPoolOptions = { jobs: options.jobs, ...watch };
        const modelReader = new LateModelReader(modelLimitsOf(options), pool.signal);
        try {
          return await command({ compiler, nowMs, modelReader, pool });
        } finally {
          await modelReader.close();
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
    const { compileShardCommand } = await import("./compile/shard.ts");
    return (sources) => compileShardCommand({ ...asked, ...sources, shard });
  }
  const { compileCommand } = await import("./compile/compile.ts");
  const { requirementsAsked } = await import("../gate/required-outcome.ts");
  const requirements = requirementsAsked(options.require);
  return (sources) => compileCommand({ ...asked, ...sources, check, requirements });
}

function shardOption(): Option {
  return new Option(
    "--shard <i/N>",
    "solve only share i of N, from 1, as a part that merge makes the bundle of",
  )
    .argParser(shard)
    .conflicts(["check", "require"]);
}

function shard(text: string): Shard {
  const read = readShard(text);
  if (read !== undefined) return read;
  throw new InvalidArgumentError(`expected i/N, i from 1 to N and N up to ${MAX_SHARDS}`);
}

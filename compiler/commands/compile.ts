/** Command `compile`: compiles a whole bundle, or one share of it. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { SOLVER_NAMES, type SolverName } from "../methods/solver-names.ts";
import type { LevelPoolOptions } from "../processes/level-pool.ts";
import { MAX_SHARDS, readShard, type Shard } from "../sharding/shard.ts";
import type { CompileSources } from "./compile/compile.ts";
import { jobsOption, withRequirements } from "./options.ts";
import type { Tools, Watch } from "./watched.ts";

interface CompileFlags {
  readonly out: string;
  readonly jobs: number;
  readonly solver?: SolverName;
  readonly profile?: string;
  readonly fanouts?: string;
  readonly check?: true;
  readonly require?: string;
  readonly shard?: Shard;
}

export function addCompile(program: Command, { watched, print, compiler, nowMs }: Tools): void {
  const command = program
    .command("compile")
    .description("compile an application spec and its profiles into a policy bundle")
    .argument("<app>", "application spec, YAML or JSON")
    .requiredOption("-o, --out <file>", "output file of the bundle")
    .addOption(jobsOption())
    .addOption(
      new Option(
        "--solver <name>",
        "solver: value-iteration for ramsis; for loki, in place of the policy's: auto, " +
          "glpk or highs",
      ).choices(SOLVER_NAMES),
    )
    .option("--profile <file>", "profile that replaces those in the spec")
    .option("--fanouts <file>", "metrics of a server of the pipeline with observed fan-outs")
    .addOption(shardOption());
  withRequirements(command).action(async (app: string, options: CompileFlags) => {
    const compile = await compileCommandOf(app, options);
    const { LateModelReader } = await import("./compile/late-model-reader.ts");
    const run = async (watch: Watch) => {
      const pool: LevelPoolOptions = { jobs: options.jobs, ...watch };
      const modelReader = new LateModelReader(pool.signal);
      try {
        return await compile({ compiler, nowMs, modelReader, pool });
      } finally {
        await modelReader.close();
      }
    };
    print(await watched("solving levels", run));
  });
}

/** Returns the whole compile, or the share that `--shard` selects. */
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
  return new Option("--shard <i/N>", "solve only share i of N, from 1, as a part for merge")
    .argParser(shard)
    .conflicts(["check", "require"]);
}

function shard(text: string): Shard {
  const read = readShard(text);
  if (read !== undefined) return read;
  throw new InvalidArgumentError(`expected i/N, i from 1 to N and N up to ${MAX_SHARDS}`);
}

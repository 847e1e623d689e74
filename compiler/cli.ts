#!/usr/bin/env node
/** bin `stratagem`: argv → commands. The only file of the compiler that prints for people, exits, or reads a clock. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Command, InvalidArgumentError, Option } from "commander";
import { addInspect, positiveNumber, print, runProgram } from "../runtime/command-line.ts";
import type { SchemaKind } from "./commands/schema.ts";
import type { SimulateOptions } from "./commands/simulate.ts";
import { explainCompilerError, InterruptedError } from "./errors.ts";
import type { LevelPoolOptions } from "./level-pool.ts";
import { startProgress } from "./progress.ts";

const nowMs = (): number => performance.now();
const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { version: string };

const program = new Command("stratagem")
  .description("Compiles what an inference-serving cluster should do at every load.")
  .version(version)
  .exitOverride();

program
  .command("compile")
  .description("compile an application spec and its profiles into a policy bundle")
  .argument("<app>", "application spec, YAML or JSON")
  .requiredOption("-o, --out <file>", "where to write the bundle")
  .option("--jobs <n>", "levels to solve at a time", wholeNumber, availableParallelism())
  .addOption(new Option("--solver <name>", "how to solve").choices(["value-iteration"]))
  .option("--check", "write nothing; exit with 2 if the file differs from what would be written")
  .option("--json", "one JSON document on stdout")
  .action(async (app: string, options: { out: string; jobs: number; check?: true }) => {
    const { compileCommand } = await import("./commands/compile.ts");
    const { out, jobs, check = false } = options;
    const compiler = `stratagem ${version}`;
    const run = (pool: LevelPoolOptions) =>
      compileCommand({ app, out, check, compiler, pool, nowMs });
    print(await withPool("solving levels", jobs, run));
  });

addInspect(program);

program
  .command("verify")
  .description("check a bundle and recompute the guarantees it states")
  .argument("<bundle>", "policy bundle")
  .option("--jobs <n>", "levels to check at a time", wholeNumber, availableParallelism())
  .option("--json", "one JSON document on stdout")
  .action(async (path: string, { jobs }: { jobs: number }) => {
    const { verifyCommand } = await import("./commands/verify.ts");
    print(await withPool("checking levels", jobs, (pool) => verifyCommand(path, pool)));
  });

program
  .command("diff")
  .description("say how two bundles differ; exit with 2 if they do")
  .argument("<before>", "policy bundle")
  .argument("<after>", "policy bundle")
  .option("--json", "one JSON document on stdout")
  .action(async (before: string, after: string) => {
    const { diffCommand } = await import("../runtime/commands/diff.ts");
    print(await diffCommand(before, after));
  });

program
  .command("simulate")
  .description("run a bundle's decisions on a virtual clock")
  .argument("<bundle>", "policy bundle")
  .addOption(new Option("--poisson <qps>", "Poisson arrivals").conflicts(["gamma", "trace"]))
  .addOption(new Option("--gamma <qps,cv2>", "gamma inter-arrival times").conflicts("trace"))
  .option("--trace <file>", "arrivals or rates from a file, plain or .gz")
  .option("--duration <time>", "such as 30s or 5 min (default: 30s, or the whole trace)")
  .option("--seed <n>", "of arrivals and service times", "1")
  .addOption(
    new Option("--service-times <kind>", "the profile's percentile, or drawn from its quantiles")
      .choices(["p95", "sampled"])
      .default("p95"),
  )
  .option("--baseline <name>", "fixed:VARIANT serves every query with that one variant")
  .option("--json", "one JSON document on stdout")
  .action(async (bundle: string, options: Omit<SimulateOptions, "bundle">) => {
    const { simulateCommand } = await import("./commands/simulate.ts");
    print(await simulateCommand({ bundle, ...options }, nowMs));
  });

program
  .command("schema")
  .description("print the JSON Schema of the files you write, for editors")
  .addArgument(
    program
      .createArgument("[file]", "which")
      .choices(["application", "profile"])
      .default("application"),
  )
  .option("--json", "one JSON document on stdout")
  .action(async (kind: SchemaKind) => {
    const { schemaCommand } = await import("./commands/schema.ts");
    print(schemaCommand(kind));
  });

await runProgram(program, explainCompilerError);

/** Runs long work with a progress bar, abortable by SIGINT and SIGTERM; a second signal kills at once. */
async function withPool<T>(
  label: string,
  jobs: number,
  run: (pool: LevelPoolOptions) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const interrupt = (): void => abort.abort(new InterruptedError());
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const progress = startProgress(process.stderr, label, nowMs);
  try {
    return await run({ jobs, signal: abort.signal, onProgress: progress.update });
  } finally {
    progress.end();
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}

function wholeNumber(text: string): number {
  const value = positiveNumber(text);
  if (Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("expected a whole number above 0");
}

#!/usr/bin/env node
/** Runs `stratagem`; no other file of the compiler prints for people, exits, or reads a clock. */
import { availableParallelism } from "node:os";
import { Command, Option } from "commander";
import {
  addDiff,
  addInspect,
  addServe,
  positiveNumber,
  print,
  runProgram,
  wholeNumber,
} from "stratagem-runtime/internal/command-line";
import { packageVersion } from "stratagem-runtime/internal/version";
import type { BenchOptions } from "./commands/bench.ts";
import type { ProfileCommand } from "./commands/profile.ts";
import { startProgress } from "./commands/progress.ts";
import type { SchemaKind } from "./commands/schema.ts";
import type { SimulateOptions } from "./commands/simulate.ts";
import { explainCompilerError, InterruptedError } from "./errors.ts";
import { SOLVER_NAMES, type SolverName } from "./methods/solver-names.ts";
import type { LevelPoolOptions } from "./processes/level-pool.ts";

type Watch = Pick<LevelPoolOptions, "signal" | "onProgress" | "onBusy">;
type ProfileFlags = Pick<ProfileCommand, "out" | "repeat" | "threads" | "device" | "seed"> & {
  readonly batches?: string;
  readonly cores?: string;
  readonly layers?: true;
  readonly task?: string;
  readonly hardware?: string;
  readonly dryRun?: true;
  readonly force?: true;
};
interface ReportFlags {
  readonly out: string;
  readonly simulation: readonly string[];
  readonly frontier?: number | boolean;
}

/**
 * What computes in this process cannot be told of a signal, and has nothing to tidy up: there a
 * signal ends it at once. Only while other processes work is it caught, to end them.
 */
const MORTAL = { isMortal: true };
/** Unless `--batches` says otherwise. */
const PROFILED_BATCHES = "1,2,4,8";
const nowMs = (): number => performance.now();
const version = packageVersion();

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
  .addOption(
    new Option(
      "--solver <name>",
      "how to solve: value-iteration for ramsis; of loki instead of the policy's: auto, " +
        "glpk or highs",
    ).choices(SOLVER_NAMES),
  )
  .option("--fanouts <file>", "metrics of a server of the pipeline, for the fan-outs it observed")
  .option("--check", "write nothing; exit with 2 if the file differs from what would be written")
  .option("--all-errors", "show all that is wrong with the spec, however much it is")
  .option("--json", "one JSON document on stdout")
  .action(async (app: string, options: CompileFlags) => {
    const { compileCommand } = await import("./commands/compile.ts");
    const { out, jobs, solver = null, fanouts = null, check = false } = options;
    const compiler = `stratagem ${version}`;
    const run = (pool: LevelPoolOptions) =>
      compileCommand({ app, out, check, solver, fanouts, compiler, pool, nowMs });
    print(await withPool("solving levels", jobs, run));
  });

addInspect(program, async (bundle, level, queued, slackMs) => {
  const { methodOf } = await import("./methods/registry.ts");
  const values = methodOf(bundle).actionValues?.(bundle, level, queued, slackMs);
  if (values === undefined) throw new TypeError(`method ${bundle.method} has no action values`);
  return values;
});

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

addDiff(program);

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
  .option(
    "--baseline <name>",
    "instead of the policy: fixed:VARIANT, greedy, jellyfish, model-switching, proteus, " +
      "symphony, slackfit, slackfit-b, clockwork, nexus, infaas, maxacc or maxbatch; of a " +
      "pipeline: inferline or proteus; of provisioned stages: cg-mean, cg-peak, " +
      "cg-mean-autoscale or cg-peak-autoscale; of scaled stages: fa2, sponge or themis; of " +
      "malleable pipelines: slo-conforming, fastest, bbs or one-stage",
  )
  .option(
    "--tuned",
    "give the baseline, from proteus to maxbatch, the parameters that do best on other " +
      "arrivals of the same kind",
  )
  .addOption(
    new Option(
      "--fanout <kind>",
      "queries that one sends on: as near the mean as whole numbers can be, or Poisson",
    )
      .choices(["rounded", "poisson"])
      .default("rounded"),
  )
  .option("--json", "one JSON document on stdout")
  .action(async (bundle: string, options: Omit<SimulateOptions, "bundle">) => {
    const { simulateCommand } = await import("./commands/simulate.ts");
    const jobs = availableParallelism();
    const run = (watch: LevelPoolOptions) =>
      simulateCommand({ bundle, ...options }, { nowMs, ...watch });
    print(await watched("planning the baseline", (watch) => run({ jobs, ...watch }), MORTAL));
  });

program
  .command("report")
  .description("write one HTML page that shows what a bundle does and promises")
  .argument("<bundle>", "policy bundle")
  .requiredOption("-o, --out <file>", "where to write the page")
  .option("--simulation <file>", "show what simulate --json printed; may be repeated", collect, [])
  .option("--frontier <qps>", "the load to solve under other ceilings", positiveNumber)
  .option("--no-frontier", "solve no load under other ceilings")
  .option("--json", "one JSON document on stdout")
  .action(async (bundle: string, flags: ReportFlags) => {
    const { reportCommand } = await import("./commands/report.ts");
    const { out, simulation: simulations, frontier } = flags;
    const frontierQps = frontier === true ? null : (frontier ?? null);
    const run = (watch: Watch) => reportCommand({ bundle, out, simulations, frontierQps, watch });
    print(await watched("drawing", run, MORTAL));
  });

program
  .command("profile")
  .description("measure the models of an application spec on this machine")
  .argument("<app>", "application spec, YAML or JSON")
  .requiredOption("-o, --out <file>", "where to write the profile")
  .option("--task <name>", "which task, if there are several")
  .option(
    "--batches <sizes>",
    `batch sizes to measure (default: "${PROFILED_BATCHES}"; with --layers 1)`,
  )
  .option("--repeat <n>", "measurements of each batch size", wholeNumber, 30)
  .option("--threads <n>", "threads of the worker", wholeNumber, 1)
  .addOption(
    new Option(
      "--cores <counts>",
      "numbers of cores to measure every batch on, such as 1,2,4; other methods than " +
        "themis count with the first",
    ).conflicts("threads"),
  )
  .addOption(
    new Option(
      "--layers",
      "measure the layers of the models and the stages they are best cut into, for accordion",
    ).conflicts("cores"),
  )
  .addOption(
    new Option("--device <name>", "what runs the models")
      .choices(["cpu", "cuda", "webgpu"])
      .default("cpu"),
  )
  .option("--hardware <name>", "what the profile calls this machine")
  .option("--seed <n>", "of the inputs", wholeNumber, 1)
  .option("--dry-run", "say what would be measured")
  .option("--force", "write the profile however noisy the machine was")
  .option("--all-errors", "show all that is wrong with the spec, however much it is")
  .option("--json", "one JSON document on stdout")
  .action(async (app: string, flags: ProfileFlags) => {
    const { parseBatches, parseCores, profileCommand } = await import("./commands/profile.ts");
    const { describeMachine } = await import("./profile/machine.ts");
    const { readModelFile } = await import("stratagem-runtime/internal/exec/model-file");
    const { startAssignedExecutor: startExecutor } = await import(
      "stratagem-runtime/internal/exec/assigned-pool"
    );
    const { out, repeat, threads, device, seed, layers = false } = flags;
    const { task = null, hardware = null, dryRun = false, force = false } = flags;
    const batches = parseBatches(flags.batches ?? (layers ? "1" : PROFILED_BATCHES));
    const cores = flags.cores === undefined ? null : parseCores(flags.cores);
    const options = { app, out, repeat, threads, device, seed, task, hardware, dryRun, force };
    const surroundings = { machine: describeMachine(), readModel: readModelFile, startExecutor };
    if (!layers) {
      const command = { ...options, batches, cores };
      const run = (watch: Watch) => profileCommand(command, { nowMs, ...watch, ...surroundings });
      print(await watched("measuring", run));
      return;
    }
    const commands = await import("./commands/profile-layers.ts");
    commands.requireSingleInstances(batches);
    const { openLayeredModel } = await import("./onnx/layered-model.ts");
    const { probeTensors } = await import("stratagem-runtime/internal/exec/probe-tensors");
    const run = (watch: Watch) =>
      commands.profileLayersCommand(options, {
        nowMs,
        ...watch,
        ...surroundings,
        openLayers: (path) => openLayeredModel(path, probeTensors),
      });
    print(await watched("measuring", run));
  });

addServe(program, async (bundle, loadQps, signal) => {
  const { solveLevelOf } = await import("./processes/level-pool.ts");
  return solveLevelOf(bundle, loadQps, signal);
});

program
  .command("bench")
  .description("send open-loop load to a running server")
  .argument("<url>", "such as http://127.0.0.1:8000")
  .addOption(new Option("--poisson <qps>", "Poisson arrivals").conflicts(["gamma", "trace"]))
  .addOption(new Option("--gamma <qps,cv2>", "gamma inter-arrival times").conflicts("trace"))
  .option("--trace <file>", "arrivals or rates from a file, plain or .gz")
  .option("--duration <time>", "such as 30s or 5 min (default: 30s, or the whole trace)")
  .option("--slo <time>", "an answer that takes longer is late, such as 50ms")
  .option("--slo-class <name>", "the class of all queries, whose SLO holds unless --slo is given")
  .addOption(
    new Option(
      "--slo-classes",
      "queries of every class, drawn by the shares that the server states",
    ).conflicts(["slo", "sloClass"]),
  )
  .option("--seed <n>", "of the arrivals", "1")
  .option("--warm-up <n>", "requests sent first and not counted", "0")
  .option("--model <name>", "which model (default: the first one served)")
  .option("--inputs <file>", "rows to send, raw bytes one after another (default: zeros)")
  .option("--labels <file>", "the right class of each row, one number per line")
  .option("--json", "one JSON document on stdout")
  .action(async (url: string, options: Omit<BenchOptions, "url">) => {
    const { benchCommand } = await import("./commands/bench.ts");
    const run = (watch: Watch) => benchCommand({ url, ...options }, { nowMs, ...watch });
    print(await watched("seconds", run));
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

interface CompileFlags {
  readonly out: string;
  readonly jobs: number;
  readonly solver?: SolverName;
  readonly fanouts?: string;
  readonly check?: true;
}

/** Gathers the values of an option that may be repeated. */
function collect(value: string, earlier: readonly string[]): string[] {
  return [...earlier, value];
}

async function withPool<T>(
  label: string,
  jobs: number,
  run: (pool: LevelPoolOptions) => Promise<T>,
): Promise<T> {
  return watched(label, (watch) => run({ jobs, ...watch }));
}

/**
 * Runs long work with a progress bar, abortable by SIGINT and SIGTERM; a second signal kills at
 * once.
 */
async function watched<T>(
  label: string,
  run: (watch: Watch) => Promise<T>,
  { isMortal } = { isMortal: false },
): Promise<T> {
  const abort = new AbortController();
  const interrupt = (): void => abort.abort(new InterruptedError());
  const release = () => process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  const onBusy = (isBusy: boolean): void => {
    release();
    if (isBusy) process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  };
  onBusy(!isMortal);
  const progress = startProgress(process.stderr, label, nowMs);
  try {
    const watch = { signal: abort.signal, onProgress: progress.update };
    return await run(isMortal ? { ...watch, onBusy } : watch);
  } finally {
    progress.end();
    release();
  }
}

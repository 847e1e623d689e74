#!/usr/bin/env node
/** Runs `stratagem`; no other file of the compiler prints for people, exits, or reads a clock. */
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import {
  addCompletion,
  addDiff,
  addInspect,
  addServe,
  addToken,
  positiveNumber,
  print,
  runProgram,
  wholeNumber,
} from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { packageVersion } from "stratagem-runtime/internal/version";
import type { BenchOptions } from "./commands/bench.ts";
import type { ProfileCommand, ProfileSurroundings } from "./commands/profile.ts";
import type { ServingCommand, ServingSurroundings } from "./commands/profile-serving.ts";
import type { DeviceFlags } from "./commands/profiled-device.ts";
import { startProgress } from "./commands/progress.ts";
import type { SchemaKind } from "./commands/schema.ts";
import type { SimulateOptions } from "./commands/simulate.ts";
import { explainCompilerError, InterruptedError } from "./errors.ts";
import { SOLVER_NAMES, type SolverName } from "./methods/solver-names.ts";
import {
  collect,
  count,
  loads,
  MODEL_MEMORY,
  type ModelFlags,
  memoryBytes,
  modelLimitsOf,
  modelTimeout,
  slo,
  timeoutMs,
} from "./option-values.ts";
import type { LevelPoolOptions } from "./processes/level-pool.ts";
import { addExplain, addRecalibrate, type RunAndPrint } from "./service-commands.ts";

type Watch = Pick<LevelPoolOptions, "signal" | "onProgress" | "onBusy"> &
  Pick<ProfileSurroundings, "onNote">;
type ProfileFlags = Required<
  Pick<ProfileCommand, "repeat" | "threads" | "seed" | "cpuFallback">
> & {
  readonly out?: string;
  readonly batches?: string;
  readonly cores?: string;
  readonly layers?: true;
  readonly modelMemory?: number;
  readonly modelTimeout: number;
  readonly task?: string;
  readonly hardware?: string;
  readonly budget?: number;
  readonly serving?: true;
  readonly into?: string;
  readonly inputs?: string;
  readonly dryRun?: true;
  readonly force?: true;
} & DeviceFlags;
interface ReportFlags {
  readonly out: string;
  readonly simulation: readonly string[];
  readonly frontier?: number | boolean;
}

/**
 * What computes in this process cannot be told of a signal, and has nothing to tidy up: there a
 * signal ends it at once. Only while other processes work is it caught, to end them.
 */
const MORTAL = { isMortal: true, hasLines: false };
/** Where there is no terminal either, progress is told. */
const TOLD = { isMortal: false, hasLines: true };
/** Unless `--batches` says otherwise. */
const PROFILED_BATCHES = "1,2,4,8";
/** Unless `--slo` and `--loads` say otherwise. */
const DEFAULT_SLO = "1 s";
const DEFAULT_LOADS = [1, 2, 5];
/** Beyond the runs that were asked for; see docs/profiling.md. */
const PROFILING_EFFORT = { warmUpMs: 1000, extraMs: 20_000 };
const nowMs = (): number => performance.now();
const every = (intervalMs: number, callback: () => void): (() => void) => {
  const timer = setInterval(callback, intervalMs).unref();
  return () => clearInterval(timer);
};
const version = packageVersion();

const program = new Command("stratagem")
  .description("Compiles what an inference-serving cluster should do at every load.")
  .version(version)
  .exitOverride();

program
  .command("init")
  .description("write a spec that compiles, from model files")
  .argument("<models...>", "ONNX files: one, or several variants of one task")
  .option("-o, --out <file>", "where to write the spec", "app.yaml")
  .option("--name <name>", "name of the application (default: that of the first model)")
  .option("--slo <time>", "how long a request may take", slo)
  .option("--loads <rates>", "requests per second to prepare for, such as 1,10,100", loads)
  .option("--workers <n>", "processes that run models", wholeNumber, 1)
  .option("--accuracy <variant=ratio>", "accuracy of a variant (repeatable)", collect, [])
  .option("--axes <axis=use>", "an open axis: batch, a size, or sizes (repeatable)", collect, [])
  .option("--yes", "ask nothing, also on a terminal")
  .option("--force", "replace a spec that is there")
  .option("--model-memory <bytes>", MODEL_MEMORY, memoryBytes)
  .addOption(modelTimeout())
  .option("--json", "one JSON document on stdout")
  .action(async (models: string[], flags: InitFlags) => {
    const { initCommand, parseAccuracy, parseAxis } = await import("./commands/init.ts");
    const { terminalAsk } = await import("./init/questions.ts");
    const { ModelReader } = await import("stratagem-runtime/internal/exec/model-reader");
    const { out, name = null, workers, force = false } = flags;
    const options = {
      models,
      out,
      name,
      workers,
      force,
      slo: flags.slo ?? DEFAULT_SLO,
      loads: flags.loads ?? DEFAULT_LOADS,
      accuracies: new Map(flags.accuracy.map(parseAccuracy)),
      axes: Object.fromEntries(flags.axes.map(parseAxis)),
    };
    const isTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true;
    const terminal = isTerminal && flags.yes === undefined ? terminalAsk() : null;
    const run = async ({ signal }: Watch) => {
      const reader = new ModelReader(modelLimitsOf(flags), signal);
      try {
        return await initCommand(options, reader, terminal?.ask ?? null);
      } finally {
        reader.close();
        terminal?.close();
      }
    };
    print(await watched("reading models", run));
  });

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
  .option("--check", "write nothing; exit with 2 if the file differs from what would be written")
  .option("--all-errors", "show all that is wrong with the spec, however much it is")
  .option("--json", "one JSON document on stdout")
  .action(async (app: string, options: CompileFlags) => {
    const { compileCommand } = await import("./commands/compile.ts");
    const { out, jobs, solver = null, fanouts = null, check = false, profile = null } = options;
    const compiler = `stratagem ${version}`;
    const { ModelReader } = await import("stratagem-runtime/internal/exec/model-reader");
    const command = { app, out, check, solver, profile, fanouts, compiler, nowMs };
    const run = async (pool: LevelPoolOptions) => {
      const modelReader = new ModelReader(modelLimitsOf(options), pool.signal);
      try {
        return await compileCommand({ ...command, modelReader, pool });
      } finally {
        modelReader.close();
      }
    };
    print(await withPool("solving levels", jobs, run));
  });

addInspect(program, async (bundle, level, queued, slackMs) => {
  const { methodOf } = await import("./methods/registry.ts");
  const method = await methodOf(bundle);
  const values = method.actionValues?.(bundle, level, queued, slackMs);
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
    new Option(
      "--service-times <kind>",
      "the profile's percentile, or drawn from its quantiles (default: sampled where the " +
        "bundle has quantiles and says what serving takes, or else p95)",
    ).choices(["p95", "sampled"]),
  )
  .option(
    "--without <stations>",
    "leave out the server's own work (path), what workers take from each other (contention), " +
      "or both (path,contention)",
  )
  .option("--neighbours <n>", "processors that others keep busy, such as a load generator")
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

const runAndPrint: RunAndPrint = async (label, work) => {
  print(await watched(label, ({ signal }) => work(signal)));
};
addExplain(program, runAndPrint);
addRecalibrate(program, runAndPrint, () => Date.now());

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
  .option("-o, --out <file>", "where to write the profile; --dry-run needs none")
  .option("--task <name>", "which task, if there are several")
  .option(
    "--batches <sizes>",
    `batch sizes to measure (default: "${PROFILED_BATCHES}"; with --layers 1)`,
  )
  .option(
    "--repeat <n>",
    "measurements of each batch size; those that vary get more, for 20 s at most",
    wholeNumber,
    30,
  )
  .addOption(
    new Option(
      "--budget <time>",
      "time to measure for, such as 60s or 5min: what is worth it most; the rest is named",
    )
      .argParser(timeoutMs)
      .conflicts("layers"),
  )
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
  .option(
    "--serving",
    "measure the serving path too: what the server takes beside the models, and how workers " +
      "slow each other down",
  )
  .option("--into <file>", "with --serving, a profile to add that to; nothing else is measured")
  .option("--inputs <file>", "with --serving, rows to send, raw bytes (default: random numbers)")
  .addOption(
    new Option("--device <device>", "what runs the models, such as webgpu or cuda:1").default(
      "cpu",
    ),
  )
  .option("--worker-env <name=value>", "a variable of the worker (repeatable)", collect, [])
  .option("--provider-options <name=value>", "such as preferredLayout=NHWC,enableRobustness=false")
  .addOption(
    new Option("--cpu-fallback <name>", "models of which a GPU leaves nodes to the processor")
      .choices(["allow", "refuse"])
      .default("allow"),
  )
  .option("--model-memory <bytes>", MODEL_MEMORY, memoryBytes)
  .addOption(modelTimeout())
  .option("--hardware <name>", "what the profile calls this machine")
  .option("--seed <n>", "of the inputs", wholeNumber, 1)
  .option("--dry-run", "say what would be measured")
  .option(
    "--force",
    "write the profile however noisy the machine was; takes what was refused before",
  )
  .option("--all-errors", "show all that is wrong with the spec, however much it is")
  .option("--json", "one JSON document on stdout")
  .action(async (app: string, flags: ProfileFlags) => {
    const { parseBatches, parseCores, profileCommand } = await import("./commands/profile.ts");
    const { bindChain } = await import("./binding/bind-chain.ts");
    const { bindModel } = await import("./binding/bind-model.ts");
    const { methodOf } = await import("./methods/registry.ts");
    const { describeMachine } = await import("./profile/machine.ts");
    const { describeDevice } = await import("stratagem-runtime/internal/devices/describe-device");
    const { profiledDevice } = await import("./commands/profiled-device.ts");
    const { alsoServing, servingOutput } = await import("./commands/profile-serving.ts");
    const serving = servingOutput(flags);
    const { precisionOf } = await import("./onnx/precision.ts");
    const { ModelReader } = await import("stratagem-runtime/internal/exec/model-reader");
    const { startAssignedExecutor } = await import("stratagem-runtime/internal/exec/assigned-pool");
    const { provider: device, ...on } = profiledDevice(flags);
    const { repeat, threads, seed, layers = false, out = null } = flags;
    const { task = null, hardware = null, dryRun = false, force = false } = flags;
    const batches = parseBatches(flags.batches ?? (layers ? "1" : PROFILED_BATCHES));
    const cores = flags.cores === undefined ? null : parseCores(flags.cores);
    const how = { device, on, cpuFallback: flags.cpuFallback };
    const options = { app, out, repeat, threads, ...how, seed, task, hardware, dryRun, force };
    const modelLimits = modelLimitsOf(flags);
    const startExecutor: ProfileSurroundings["startExecutor"] = (started, handlers) =>
      startAssignedExecutor(started, handlers, {
        memoryBytes: modelLimits.memoryBytes,
        modelTimeoutMs: modelLimits.timeoutMs,
        batchTimeoutMs: modelLimits.timeoutMs,
      });
    const profileUnder = async (watch: Watch) => {
      const reader = new ModelReader(modelLimits, watch.signal);
      const readModel: ProfileSurroundings["readModel"] = async (path, binding, at, chain) => {
        if (chain !== undefined) return bindChain(chain, binding, at, reader);
        return bindModel(path, await reader.describe(path), binding, at, reader);
      };
      const readHost: ProfileSurroundings["readHost"] = (host) => reader.readHost(host);
      const sample: ProfileSurroundings["sample"] = (host, rows, seed) =>
        reader.sample(host, rows, seed);
      const feedsOf: ProfileSurroundings["feedsOf"] = async (policy) => {
        return (await methodOf(policy)).feeds;
      };
      const machine = describeMachine();
      const surroundings = {
        precisionOf,
        describeDevice,
        feedsOf,
        nowMs,
        ...watch,
        machine,
        readModel,
        readHost,
        sample,
        startExecutor,
      };
      const path = (into: string) => {
        const asked = { ...options, into, inputs: flags.inputs ?? null };
        return servingPath(asked, watch, { ...surroundings, modelReader: reader });
      };
      const models = async () => {
        if (!layers) {
          const budgetMs = flags.budget ?? null;
          const cells = { batches, cores, budgetMs, effort: PROFILING_EFFORT };
          const { measureStarts } = await import("./profile/measured-starts.ts");
          const sources = { ...surroundings, measureStarts };
          return await profileCommand({ ...options, ...cells }, sources);
        }
        const commands = await import("./commands/profile-layers.ts");
        commands.requireSingleInstances(batches);
        const { openLayeredModel } = await import("./onnx/layered-model.ts");
        const openLayers = (path: string) => openLayeredModel(path, reader.probe);
        return await commands.profileLayersCommand(options, { ...surroundings, openLayers });
      };
      try {
        if (serving?.isAlone === true && !dryRun) return await path(serving.into);
        const measured = await models();
        if (serving === null) return measured;
        return await alsoServing(measured, serving.into, dryRun, path);
      } finally {
        reader.close();
      }
    };
    print(await watched("measuring", profileUnder, { ...TOLD, hasLines: !dryRun }));
  });

addToken(program);
addCompletion(program);
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
  .command("truth")
  .description("find out whether an application's promises hold on this machine")
  .argument("<app>", "application spec, YAML or JSON")
  .option("--profile <file>", "a profile of this machine (default: it is measured first)")
  .option("--loads <n>", "how many of the levels' loads to send", wholeNumber, 3)
  .option("--seconds <n>", "how long each is sent", wholeNumber, 10)
  .option("--runs <n>", "how often each is sent", wholeNumber, 1)
  .option("--retries <n>", "runs to repeat that other guests of the host disturbed", count, 1)
  .option("--seed <n>", "of the arrivals", "1")
  .option("--models <folder>", "where the models are (default: where the spec says)")
  .option("--inputs <file>", "rows to send, or a folder of request bodies (default: zeros)")
  .option("--labels <file>", "the right class of each row, one number per line")
  .option("-o, --out <folder>", "where profile, bundle, document and a page are kept")
  .option("--json", "one JSON document on stdout")
  .action(async (app: string, flags: TruthFlags) => {
    const { truthCommand } = await import("./commands/truth.ts");
    const { out = null, profile = null, models = null, inputs = null, labels = null } = flags;
    const { loads: loadCount, seconds, runs, retries, seed } = flags;
    const files = { app, out, profile, models, inputs, labels };
    const command = { ...files, loads: loadCount, seconds, runs, retries, seed };
    const run = (watch: Watch) => {
      const pause = async (ms: number) => {
        await sleep(ms);
        watch.signal.throwIfAborted();
      };
      const clocks = { nowMs, epochMs: () => Date.now(), every, pause };
      return truthCommand(command, { jobs: availableParallelism(), ...clocks, ...watch });
    };
    print(await watched("truth", run, TOLD));
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

interface InitFlags extends ModelFlags {
  readonly out: string;
  readonly name?: string;
  readonly slo?: string;
  readonly loads?: readonly number[];
  readonly workers: number;
  readonly accuracy: readonly string[];
  readonly axes: readonly string[];
  readonly yes?: true;
  readonly force?: true;
}

interface TruthFlags {
  readonly out?: string;
  readonly profile?: string;
  readonly loads: number;
  readonly seconds: number;
  readonly runs: number;
  readonly retries: number;
  readonly seed: string;
  readonly models?: string;
  readonly inputs?: string;
  readonly labels?: string;
}

interface CompileFlags extends ModelFlags {
  readonly out: string;
  readonly jobs: number;
  readonly solver?: SolverName;
  readonly profile?: string;
  readonly fanouts?: string;
  readonly check?: true;
}

/** Measures what serving takes beside the models. */
async function servingPath(
  asked: Omit<ServingCommand, "effort">,
  watch: Watch,
  surroundings: Omit<ServingSurroundings, "cli" | "compiler" | "pool" | "sleep" | "rng" | "onNote">,
): Promise<CommandResult> {
  const { servingCommand } = await import("./commands/profile-serving.ts");
  const { SERVING_EFFORT: effort } = await import("./profile/serving/serving-effort.ts");
  const { Rng } = await import("stratagem-runtime/internal/core/rng");
  const own = {
    cli: fileURLToPath(import.meta.url),
    compiler: `stratagem ${version}`,
    pool: { ...watch, jobs: availableParallelism() },
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
    rng: new Rng(asked.seed, 1),
  };
  return servingCommand({ ...asked, effort }, { ...surroundings, ...watch, ...own });
}

function never(): () => void {
  return () => {};
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
  { isMortal, hasLines } = { isMortal: false, hasLines: false },
): Promise<T> {
  const abort = new AbortController();
  const interrupt = (): void => abort.abort(new InterruptedError());
  const release = () => process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  const onBusy = (isBusy: boolean): void => {
    release();
    if (isBusy) process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  };
  onBusy(!isMortal);
  const progress = startProgress(process.stderr, label, { nowMs, every: hasLines ? every : never });
  try {
    const watch = { signal: abort.signal, onProgress: progress.update, onNote: progress.note };
    return await run(isMortal ? { ...watch, onBusy } : watch);
  } finally {
    progress.end();
    release();
  }
}

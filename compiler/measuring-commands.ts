/** The commands that measure: `profile`, `bench` and `truth`. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { BenchOptions } from "./commands/bench.ts";
import type { ProfileCommand, ProfileSurroundings } from "./commands/profile.ts";
import type { ServingCommand, ServingSurroundings } from "./commands/profile-serving.ts";
import type { DeviceFlags } from "./commands/profiled-device.ts";
import {
  collect,
  count,
  MODEL_MEMORY,
  memoryBytes,
  modelLimitsOf,
  modelTimeout,
  timeoutMs,
} from "./option-values.ts";
import { type Clock, TOLD, type Watch, type Watched } from "./watched.ts";

/** What the program has that these commands need. */
export interface MeasuringTools extends Clock {
  readonly watched: Watched;
  readonly print: (result: CommandResult) => void;
  /** Since 1970. */
  readonly epochMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** The program's own file, which servers are started with. */
  readonly cli: string;
  /** As provenance names it. */
  readonly compiler: string;
}

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

/** Unless `--batches` says otherwise. */
const PROFILED_BATCHES = "1,2,4,8";
/** Beyond the runs that were asked for; see docs/profiling.md. */
const PROFILING_EFFORT = { warmUpMs: 1000, extraMs: 20_000 };

export function addProfile(program: Command, tools: MeasuringTools): void {
  const { watched, print, nowMs } = tools;
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
    .option(
      "--provider-options <name=value>",
      "such as preferredLayout=NHWC,enableRobustness=false",
    )
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
      const { startAssignedExecutor } = await import(
        "stratagem-runtime/internal/exec/assigned-pool"
      );
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
          return servingPath(asked, watch, tools, { ...surroundings, modelReader: reader });
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
}

export function addBench(program: Command, { watched, print, nowMs }: MeasuringTools): void {
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
}

export function addTruth(program: Command, tools: MeasuringTools): void {
  const { watched, print, nowMs, epochMs, every } = tools;
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
          await tools.sleep(ms);
          watch.signal.throwIfAborted();
        };
        const clocks = { nowMs, epochMs, every, pause };
        return truthCommand(command, { jobs: availableParallelism(), ...clocks, ...watch });
      };
      print(await watched("truth", run, TOLD));
    });
}

/** Measures what serving takes beside the models. */
async function servingPath(
  asked: Omit<ServingCommand, "effort">,
  watch: Watch,
  { cli, compiler, sleep }: MeasuringTools,
  surroundings: Omit<ServingSurroundings, "cli" | "compiler" | "pool" | "sleep" | "rng" | "onNote">,
): Promise<CommandResult> {
  const { servingCommand } = await import("./commands/profile-serving.ts");
  const { SERVING_EFFORT: effort } = await import("./profile/serving/serving-effort.ts");
  const { Rng } = await import("stratagem-runtime/internal/core/rng");
  const own = {
    cli,
    compiler,
    pool: { ...watch, jobs: availableParallelism() },
    sleep,
    rng: new Rng(asked.seed, 1),
  };
  return servingCommand({ ...asked, effort }, { ...surroundings, ...watch, ...own });
}

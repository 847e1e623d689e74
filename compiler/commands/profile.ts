/** Command `profile`: measures models and the serving path on this machine. */

import { type Command, Option } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { wholeNumber } from "stratagem-runtime/internal/commands/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import { tokenOption } from "stratagem-runtime/internal/settings/shown-tokens";
import { collect, timeMs } from "./options.ts";
import type { DeviceFlags } from "./profile/device.ts";
import type { ElsewhereFlags, MeasuredElsewhere } from "./profile/elsewhere.ts";
import type { ProfileCommand, ProfileSurroundings } from "./profile/profile.ts";
import type { ServingCommand, ServingSurroundings } from "./profile/serving.ts";
import { type Tools, type Watch, WITH_LINES } from "./watched.ts";

type ProfileFlags = Pick<ProfileCommand, "repeat"> & {
  readonly out?: string;
  readonly task?: string;
  readonly batches?: string;
  readonly budget?: number;
  readonly cores?: string;
  readonly layers?: true;
  readonly serving?: true | string;
  readonly inputs?: string;
  readonly labels?: string;
  readonly hardware?: string;
  readonly dryRun?: true;
  readonly force?: true;
  readonly from?: readonly string[];
  readonly policy?: string;
} & DeviceFlags &
  ElsewhereFlags;

/** Default of `--batches`. */
const PROFILED_BATCHES = "1,2,4,8";
/** Additional measuring beyond the requested runs; see docs/models.md. */
const PROFILING_EFFORT = { warmUpMs: 1000, extraMs: 20_000 };
/** Seed of the inputs, the same for every profile. */
const SEED = 1;
/** Timeout of loading a model or running a batch. */
const MODEL_TIMEOUT_MS = 60_000;
/** Options of the measurement, which conflict with `--from`. */
const MEASURED = [
  ...["task", "batches", "repeat", "budget", "cores", "layers", "serving", "inputs", "labels"],
  ...["device", "providerOptions", "workers", "token", "workerEnv", "hardware"],
  ...["dryRun", "force"],
];

export function addProfile(program: Command, tools: Tools): void {
  const command = program
    .command("profile")
    .description("measure the models of an application spec on this machine")
    .argument("<app>", "application spec, YAML or JSON; with --from also a profile");
  addObserved(addWorkers(addWhat(command))).action(async (app: string, flags: ProfileFlags) => {
    const { from, dryRun } = flags;
    const run = (watch: Watch) =>
      from === undefined ? profiled(app, flags, watch, tools) : observed(app, from, flags, watch);
    const hasLines = from === undefined && dryRun !== true;
    tools.print(await tools.watched("measuring", run, { ...WITH_LINES, hasLines }));
  });
}

/** Adds the options that select the measurements. */
function addWhat(command: Command): Command {
  return command
    .option("-o, --out <file>", "output file of the profile; optional with --dry-run")
    .option("--task <name>", "task to measure (default: all)")
    .option(
      "--batches <sizes>",
      `batch sizes to measure (default: "${PROFILED_BATCHES}"; with --layers 1)`,
    )
    .option(
      "--repeat <n>",
      "runs of each batch size; noisy ones get more, for 20 s at most",
      wholeNumber,
      30,
    )
    .addOption(
      new Option(
        "--budget <time>",
        "time budget for the most useful measurements, such as 60s or 5min; the rest is listed",
      )
        .argParser(timeMs)
        .conflicts("layers"),
    )
    .option(
      "--cores <counts>",
      "numbers of cores to measure every batch on, such as 1,2,4; methods other than themis " +
        "use the first (default: 1)",
    )
    .option(
      "--layers",
      "measure the layers of the models and the stages of their best cuts, for accordion",
    )
    .option(
      "--serving [profile]",
      "also measure the serving path: the overhead of the server, and how workers " +
        "slow each other down; of an existing profile, measure that alone and add it there",
    )
    .addOption(
      new Option(
        "--inputs <place>",
        "rows of the first task, or of --task, to measure with: a file of raw rows, or a folder " +
          "with a file per row (default: samples of modules, or random numbers)",
      ).conflicts("layers"),
    )
    .option(
      "--labels <file>",
      "with --inputs, class of each row, an index or a name per line: measures the accuracy of " +
        "every variant",
    )
    .option("--dry-run", "show the measurements without running them")
    .option(
      "--force",
      "write the profile even if the machine was noisy, from a refused measurement if there is one",
    );
}

/** Adds the options that select device and workers. */
function addWorkers(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--device <device>",
        "device that runs the models, such as webgpu or cuda:1",
      ).default("cpu"),
    )
    .option(
      "--provider-options <name=value>",
      "options of the device's provider, such as preferredLayout=NHWC,enableRobustness=false",
    )
    .option("--hardware <name>", "name of this machine in the profile")
    .addOption(
      new Option(
        "--workers <urls>",
        "workers on other machines to measure, including the network: URLs of v2 servers, " +
          "separated by " +
          "commas (default: the URLs of the spec's pool, or processes of this machine)",
      ).conflicts("layers"),
    )
    .addOption(tokenOption("workers"))
    .option(
      "--worker-env <name=value>",
      "environment variable of the worker (repeatable)",
      collect,
      [],
    );
}

/** Adds the options that import a server's measurements. */
function addObserved(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--from <place>",
        "write the profile from a server's measurements: its URL, or a file with its " +
          "/v2/stratagem/times and, for accuracies, /v2/models/M/feedback (repeatable)",
      )
        .argParser(collect)
        .conflicts(MEASURED),
    )
    .option("--policy <bundle>", "with --from, the served bundle, if names differ by pool");
}

/** Writes the profile with observed times instead of measured ones. */
async function observed(
  app: string,
  from: readonly string[],
  flags: ProfileFlags,
  { signal }: Watch,
): Promise<CommandResult> {
  const { recalibrateCommand } = await import("../recalibrate/recalibrate.ts");
  const { out, policy = null } = flags;
  if (out === undefined) {
    throw new RuntimeError("RUNTIME_USAGE", "expected -o FILE for the profile");
  }
  return recalibrateCommand({ app, from, out, policy }, signal);
}

async function profiled(
  app: string,
  flags: ProfileFlags,
  watch: Watch,
  tools: Tools,
): Promise<CommandResult> {
  const { parseBatches, parseCores, threadsOf } = await import("./profile/profile.ts");
  const { profiledDevice } = await import("./profile/device.ts");
  const { alsoServing, servingOutput } = await import("./profile/serving.ts");
  const { ModelReader } = await import("stratagem-runtime/internal/exec/process/model-reader");
  const { measuredElsewhere } = await import("./profile/elsewhere.ts");
  const serving = servingOutput(flags);
  const { provider: device, ...on } = profiledDevice(flags);
  const { repeat, layers = false, out = null } = flags;
  const { task = null, hardware = null, dryRun = false, force = false } = flags;
  const batches = parseBatches(flags.batches ?? (layers ? "1" : PROFILED_BATCHES));
  const cores = flags.cores === undefined ? null : parseCores(flags.cores);
  const threads = threadsOf(cores, layers);
  const how = { device, on, threads, seed: SEED };
  // Stages of a cut are local files, so they cannot be measured on other machines.
  const elsewhere = layers ? null : measuredElsewhere(app, flags);
  const urls = elsewhere?.urls ?? null;
  const { inputs = null, labels = null } = flags;
  const options = { app, out, repeat, inputs, labels, ...how, urls, task, hardware, dryRun, force };
  const reader = new ModelReader(watch.signal);
  const surroundings = await surroundingsOf(reader, elsewhere, watch, tools);
  const path = (into: string) => {
    const serveOptions = elsewhere?.serveOptions ?? [];
    const asked = { ...options, into, serveOptions };
    return servingPath(asked, watch, tools, { ...surroundings, modelReader: reader });
  };
  try {
    if (serving?.isAlone === true && !dryRun) return await path(serving.into);
    const measured = await measuredModels(
      options,
      { ...flags, batches, cores },
      surroundings,
      reader,
    );
    if (serving === null) return measured;
    return await alsoServing(measured, serving.into, dryRun, path);
  } finally {
    reader.close();
  }
}

type Measured = Pick<ProfileFlags, "layers" | "budget"> & {
  readonly batches: readonly number[];
  readonly cores: readonly number[] | null;
};

async function measuredModels(
  options: Omit<ProfileCommand, "batches" | "cores" | "budgetMs" | "effort">,
  { layers, batches, cores, budget }: Measured,
  surroundings: Omit<ProfileSurroundings, "measureStarts">,
  reader: ModelReader,
): Promise<CommandResult> {
  if (layers !== true) {
    const { profileCommand } = await import("./profile/profile.ts");
    const { measureStarts } = await import("../profile/measured-starts.ts");
    const cells = { batches, cores, budgetMs: budget ?? null, effort: PROFILING_EFFORT };
    // Starts of workers on other machines are not measured.
    const starts = options.urls === null ? { measureStarts } : {};
    return profileCommand({ ...options, ...cells }, { ...surroundings, ...starts });
  }
  const commands = await import("./profile/layers.ts");
  commands.requireSingleInstances(batches);
  const { openLayeredModel } = await import("../onnx/layered-model.ts");
  const openLayers = (path: string) => openLayeredModel(path, reader.probe);
  return commands.profileLayersCommand(options, { ...surroundings, openLayers });
}

/** Collects the functions that read and run models. */
async function surroundingsOf(
  reader: ModelReader,
  elsewhere: MeasuredElsewhere | null,
  watch: Watch,
  { nowMs }: Tools,
): Promise<Omit<ProfileSurroundings, "measureStarts">> {
  const { bindChain } = await import("../binding/bind-chain.ts");
  const { bindModel } = await import("../binding/bind-model.ts");
  const { methodOf } = await import("../methods/registry.ts");
  const { describeMachine } = await import("../profile/machine.ts");
  const { precisionOf } = await import("../onnx/precision.ts");
  const { describeDevice } = await import("stratagem-runtime/internal/devices/describe-device");
  const { startAssignedExecutor } = await import(
    "stratagem-runtime/internal/exec/pool/assigned-pool"
  );
  const { startElsewhere } = await import("./profile/elsewhere.ts");
  const [modelTimeoutMs, batchTimeoutMs] = [MODEL_TIMEOUT_MS, MODEL_TIMEOUT_MS];
  const limits = { memoryBytes: null, modelTimeoutMs, batchTimeoutMs };
  const startHere: ProfileSurroundings["startExecutor"] = (started, handlers) => {
    return startAssignedExecutor(started, handlers, limits);
  };
  return {
    precisionOf,
    describeDevice,
    feedsOf: async (policy) => (await methodOf(policy)).feeds,
    nowMs,
    ...watch,
    machine: describeMachine(),
    readModel: async (path, binding, at, chain) => {
      if (chain !== undefined) return bindChain(chain, binding, at, reader);
      return bindModel(path, await reader.describe(path), binding, at, reader);
    },
    readHost: (host) => reader.readHost(host),
    sample: (host, rows, seed) => reader.sample(host, rows, seed),
    startExecutor: elsewhere === null ? startHere : startElsewhere(elsewhere, batchTimeoutMs),
  };
}

/** Measures the overhead of serving beyond the models. */
async function servingPath(
  asked: Omit<ServingCommand, "effort">,
  watch: Watch,
  { cli, compiler, sleep }: Tools,
  surroundings: Omit<ServingSurroundings, "cli" | "compiler" | "pool" | "sleep" | "rng" | "onNote">,
): Promise<CommandResult> {
  const { servingCommand } = await import("./profile/serving.ts");
  const { SERVING_EFFORT: effort } = await import("../profile/serving/serving-effort.ts");
  const { Rng } = await import("stratagem-runtime/internal/core/rng");
  const own = {
    cli,
    compiler,
    pool: { ...watch, jobs: parallelism() },
    sleep,
    rng: new Rng(asked.seed, 1),
  };
  return servingCommand({ ...asked, effort }, { ...surroundings, ...watch, ...own });
}

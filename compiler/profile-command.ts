/** The command `profile`: what measures models, and the serving path, on this machine. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import type { ProfileCommand, ProfileSurroundings } from "./commands/profile.ts";
import type { ServingCommand, ServingSurroundings } from "./commands/profile-serving.ts";
import type { DeviceFlags } from "./commands/profiled-device.ts";
import type { ElsewhereFlags, MeasuredElsewhere } from "./commands/profiled-elsewhere.ts";
import type { MeasuringTools } from "./measuring-commands.ts";
import { MODEL_MEMORY, memoryBytes, modelLimitsOf, modelTimeout } from "./model-options.ts";
import { collect, timeoutMs } from "./option-values.ts";
import { TOLD, type Watch } from "./watched.ts";

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
} & DeviceFlags &
  ElsewhereFlags;

/** Unless `--batches` says otherwise. */
const PROFILED_BATCHES = "1,2,4,8";
/** Beyond the runs that were asked for; see docs/models.md. */
const PROFILING_EFFORT = { warmUpMs: 1000, extraMs: 20_000 };

export function addProfile(program: Command, tools: MeasuringTools): void {
  const command = program
    .command("profile")
    .description("measure the models of an application spec on this machine")
    .argument("<app>", "application spec, YAML or JSON");
  addHow(addWhat(command)).action(async (app: string, flags: ProfileFlags) => {
    const isTold = flags.dryRun !== true;
    const run = (watch: Watch) => profiled(app, flags, watch, tools);
    tools.print(await tools.watched("measuring", run, { ...TOLD, hasLines: isTold }));
  });
}

/** Options of what is measured. */
function addWhat(command: Command): Command {
  return command
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
    );
}

/** Options of how it is. */
function addHow(command: Command): Command {
  return command
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
    .addOption(
      new Option(
        "--workers <urls>",
        "workers of other machines to measure, with the way to them: URLs of v2 servers with " +
          "commas (default: those of the spec's pool, else processes of this machine)",
      ).conflicts("layers"),
    )
    .option("--worker-token <file>", "what is shown to workers that want a token")
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
    .option("--json", "one JSON document on stdout");
}

async function profiled(
  app: string,
  flags: ProfileFlags,
  watch: Watch,
  tools: MeasuringTools,
): Promise<CommandResult> {
  const { parseBatches } = await import("./commands/profile.ts");
  const { profiledDevice } = await import("./commands/profiled-device.ts");
  const { alsoServing, servingOutput } = await import("./commands/profile-serving.ts");
  const { ModelReader } = await import("stratagem-runtime/internal/exec/process/model-reader");
  const { measuredElsewhere } = await import("./commands/profiled-elsewhere.ts");
  const serving = servingOutput(flags);
  const { provider: device, ...on } = profiledDevice(flags);
  const { repeat, threads, seed, layers = false, out = null } = flags;
  const { task = null, hardware = null, dryRun = false, force = false } = flags;
  const batches = parseBatches(flags.batches ?? (layers ? "1" : PROFILED_BATCHES));
  const how = { device, on, cpuFallback: flags.cpuFallback };
  // Stages of a cut are files of this command, which no other machine has.
  const elsewhere = layers ? null : measuredElsewhere(app, flags);
  const urls = elsewhere?.urls ?? null;
  const options = { app, out, repeat, threads, ...how, urls, seed, task, hardware, dryRun, force };
  const reader = new ModelReader(modelLimitsOf(flags), watch.signal);
  const surroundings = await surroundingsOf(reader, flags, elsewhere, watch, tools);
  const path = (into: string) => {
    const serveOptions = elsewhere?.serveOptions ?? [];
    const asked = { ...options, into, inputs: flags.inputs ?? null, serveOptions };
    return servingPath(asked, watch, tools, { ...surroundings, modelReader: reader });
  };
  try {
    if (serving?.isAlone === true && !dryRun) return await path(serving.into);
    const measured = await measuredModels(options, batches, flags, surroundings, reader);
    if (serving === null) return measured;
    return await alsoServing(measured, serving.into, dryRun, path);
  } finally {
    reader.close();
  }
}

async function measuredModels(
  options: Omit<ProfileCommand, "batches" | "cores" | "budgetMs" | "effort">,
  batches: readonly number[],
  { layers, cores, budget }: ProfileFlags,
  surroundings: Omit<ProfileSurroundings, "measureStarts">,
  reader: ModelReader,
): Promise<CommandResult> {
  if (layers !== true) {
    const { parseCores, profileCommand } = await import("./commands/profile.ts");
    const { measureStarts } = await import("./profile/measured-starts.ts");
    const counts = cores === undefined ? null : parseCores(cores);
    const cells = { batches, cores: counts, budgetMs: budget ?? null, effort: PROFILING_EFFORT };
    // How workers of another machine start is their own business.
    const starts = options.urls === null ? { measureStarts } : {};
    return profileCommand({ ...options, ...cells }, { ...surroundings, ...starts });
  }
  const commands = await import("./commands/profile-layers.ts");
  commands.requireSingleInstances(batches);
  const { openLayeredModel } = await import("./onnx/layered-model.ts");
  const openLayers = (path: string) => openLayeredModel(path, reader.probe);
  return commands.profileLayersCommand(options, { ...surroundings, openLayers });
}

/** What reads and runs models, under the limits of the options. */
async function surroundingsOf(
  reader: ModelReader,
  flags: ProfileFlags,
  elsewhere: MeasuredElsewhere | null,
  watch: Watch,
  { nowMs }: MeasuringTools,
): Promise<Omit<ProfileSurroundings, "measureStarts">> {
  const { bindChain } = await import("./binding/bind-chain.ts");
  const { bindModel } = await import("./binding/bind-model.ts");
  const { methodOf } = await import("./methods/registry.ts");
  const { describeMachine } = await import("./profile/machine.ts");
  const { precisionOf } = await import("./onnx/precision.ts");
  const { describeDevice } = await import("stratagem-runtime/internal/devices/describe-device");
  const { startAssignedExecutor } = await import(
    "stratagem-runtime/internal/exec/pool/assigned-pool"
  );
  const { startElsewhere } = await import("./commands/profiled-elsewhere.ts");
  const { memoryBytes: modelMemory, timeoutMs: modelTimeoutMs } = modelLimitsOf(flags);
  const limits = { memoryBytes: modelMemory, modelTimeoutMs, batchTimeoutMs: modelTimeoutMs };
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
    startExecutor: elsewhere === null ? startHere : startElsewhere(elsewhere, modelTimeoutMs),
  };
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

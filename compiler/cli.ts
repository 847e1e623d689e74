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
import { addScaler } from "stratagem-runtime/internal/scaler-command";
import {
  addSignatureFlags,
  type SignatureFlags,
  signatureOptions,
} from "stratagem-runtime/internal/signature-flags";
import { packageVersion } from "stratagem-runtime/internal/version";
import { addWorker } from "stratagem-runtime/internal/worker-command";
import type { SchemaKind } from "./commands/schema.ts";
import type { SimulateOptions } from "./commands/simulate.ts";
import { explainCompilerError } from "./errors.ts";
import { addCompile, addGate } from "./gate-commands.ts";
import { addManifests } from "./manifest-command.ts";
import { addBench, addTruth, type MeasuringTools } from "./measuring-commands.ts";
import {
  collect,
  loads,
  MODEL_MEMORY,
  type ModelFlags,
  memoryBytes,
  modelLimitsOf,
  modelTimeout,
  slo,
} from "./option-values.ts";
import type { LevelPoolOptions } from "./processes/level-pool.ts";
import { addProfile } from "./profile-command.ts";
import { addRegistryCommands } from "./registry-commands.ts";
import { addExplain, addRecalibrate, addReplay, type RunAndPrint } from "./service-commands.ts";
import { addShadowReport } from "./shadow-commands.ts";
import { addMerge } from "./sharding-commands.ts";
import { addKeygen, addSign } from "./signing-commands.ts";
import { MORTAL, type Watch, watchedBy } from "./watched.ts";

interface ReportFlags {
  readonly out: string;
  readonly simulation: readonly string[];
  readonly trace: readonly string[];
  readonly frontier?: number | boolean;
}

/** Unless `--slo` and `--loads` say otherwise. */
const DEFAULT_SLO = "1 s";
const DEFAULT_LOADS = [1, 2, 5];
const nowMs = (): number => performance.now();
const every = (intervalMs: number, callback: () => void): (() => void) => {
  const timer = setInterval(callback, intervalMs).unref();
  return () => clearInterval(timer);
};
const version = packageVersion();
const watched = watchedBy({ nowMs, every });
const withPool = <T>(label: string, jobs: number, run: (pool: LevelPoolOptions) => Promise<T>) =>
  watched(label, (watch) => run({ jobs, ...watch }));
const tools: MeasuringTools = {
  nowMs,
  every,
  watched,
  print,
  epochMs: () => Date.now(),
  sleep: (ms) => sleep(ms),
  cli: fileURLToPath(import.meta.url),
  compiler: `stratagem ${version}`,
};

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

addCompile(program, tools);
addWorker(program);
addScaler(program);
addMerge(program, tools);

addInspect(program, async (bundle, level, queued, slackMs) => {
  const { methodOf } = await import("./methods/registry.ts");
  const method = await methodOf(bundle);
  const values = method.actionValues?.(bundle, level, queued, slackMs);
  if (values === undefined) throw new TypeError(`method ${bundle.method} has no action values`);
  return values;
});

addSignatureFlags(
  program
    .command("verify")
    .description(
      "check a bundle and recompute the guarantees it states; with --key check its signature first",
    )
    .argument("<bundle>", "policy bundle"),
)
  .option("--jobs <n>", "levels to check at a time", wholeNumber, availableParallelism())
  .option("--json", "one JSON document on stdout")
  .action(async (path: string, { jobs, ...flags }: { jobs: number } & SignatureFlags) => {
    const { verifyCommand } = await import("./commands/verify.ts");
    const { verifySigned } = await import("stratagem-runtime/internal/commands/verify-signature");
    const signature = signatureOptions(flags, () => Date.now());
    const verify = () => {
      return withPool("checking levels", jobs, (pool) => verifyCommand(path, pool));
    };
    print(await verifySigned(path, signature, verify));
  });

addDiff(program);
addGate(program, tools);

program
  .command("simulate")
  .description("run a bundle's decisions on a virtual clock")
  .argument("<bundle>", "policy bundle")
  .addOption(
    new Option("--poisson <qps>", "Poisson arrivals").conflicts(["gamma", "trace", "arrivals"]),
  )
  .addOption(
    new Option("--gamma <qps,cv2>", "gamma inter-arrival times").conflicts(["trace", "arrivals"]),
  )
  .addOption(
    new Option("--trace <file>", "arrivals or rates from a file, plain or .gz").conflicts(
      "arrivals",
    ),
  )
  .option("--arrivals <log>", "when requests came, by a decision log, an access log, or a URL")
  .option("--write-trace <file>", "write these arrivals as a trace, for specs and --trace")
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
      "cg-mean-autoscale or cg-peak-autoscale; of scaled stages: fa2, sponge or themis; of both: " +
      "kpa, hpa, keda, ray-serve, dynamo or infaas; of malleable pipelines: slo-conforming, " +
      "fastest, bbs or one-stage",
  )
  .option(
    "--tuned",
    "give the baseline, from proteus to maxbatch, the parameters that do best on other " +
      "arrivals of the same kind; an autoscaler, from kpa to infaas, on these arrivals",
  )
  .option(
    "--scaling-delay <who>",
    "who starts the replicas that a plan wants: hpa, keda, or keda:10s for another polling " +
      "(default: they start at once)",
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
addReplay(program, runAndPrint);
addRecalibrate(program, runAndPrint, () => Date.now());
addRegistryCommands(program, runAndPrint);
addManifests(program, runAndPrint, version);
addShadowReport(program, async (work, jobs) => {
  print(await watched("simulating", (watch) => work({ jobs, nowMs, ...watch }), MORTAL));
});

program
  .command("report")
  .description("write one HTML page that shows what a bundle does and promises")
  .argument("<bundle>", "policy bundle")
  .requiredOption("-o, --out <file>", "where to write the page")
  .option("--simulation <file>", "show what simulate --json printed; may be repeated", collect, [])
  .option("--trace <file>", "show a day under every scaler; may be repeated", collect, [])
  .option("--frontier <qps>", "the load to solve under other ceilings", positiveNumber)
  .option("--no-frontier", "solve no load under other ceilings")
  .option("--json", "one JSON document on stdout")
  .action(async (bundle: string, flags: ReportFlags) => {
    const { reportCommand } = await import("./commands/report.ts");
    const { out, simulation: simulations, trace: traces, frontier } = flags;
    const frontierQps = frontier === true ? null : (frontier ?? null);
    const run = (watch: Watch) =>
      reportCommand({ bundle, out, simulations, traces, frontierQps, watch });
    print(await watched("drawing", run, MORTAL));
  });

addKeygen(program);
addSign(program, `stratagem ${version}`, () => Date.now());
addProfile(program, tools);
addToken(program);
addCompletion(program);
addServe(program, {
  generateLevel: async (bundle, loadQps, signal) => {
    const { solveLevelOf } = await import("./processes/level-pool.ts");
    return solveLevelOf(bundle, loadQps, signal);
  },
  gateOf: async (allowed) => {
    const { canaryGate } = await import("./gate/canary-gate.ts");
    return canaryGate(allowed);
  },
});

addBench(program, tools);
addTruth(program, tools);

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

/** The commands that ask a bundle what it promises: `inspect`, `verify`, `simulate`, `report`. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { addInspect } from "stratagem-runtime/internal/bundle-commands";
import { positiveNumber, wholeNumber } from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import {
  addSignatureFlags,
  type SignatureFlags,
  signatureOptions,
} from "stratagem-runtime/internal/signature-flags";
import type { SimulateOptions } from "./commands/simulate.ts";
import { collect } from "./option-values.ts";
import type { LevelPoolOptions } from "./processes/level-pool.ts";
import { type Clock, MORTAL, type Watch, type Watched } from "./watched.ts";

/** What the program has that these commands need. */
interface BundleTools extends Pick<Clock, "nowMs"> {
  readonly watched: Watched;
  readonly print: (result: CommandResult) => void;
  /** Since 1970. */
  readonly epochMs: () => number;
}

interface ReportFlags {
  readonly out: string;
  readonly simulation: readonly string[];
  readonly trace: readonly string[];
  readonly frontier?: number | boolean;
}

/** Adds `inspect`, which here has a solver to say what a state's actions are worth. */
export function addValuedInspect(program: Command): void {
  addInspect(program, async (bundle, level, queued, slackMs) => {
    const { methodOf } = await import("./methods/registry.ts");
    return (await methodOf(bundle)).actionValues(bundle, level, queued, slackMs);
  });
}

export function addVerify(program: Command, { watched, print, epochMs }: BundleTools): void {
  addSignatureFlags(
    program
      .command("verify")
      .description(
        "check a bundle and recompute the guarantees it states; with --key check its signature " +
          "first",
      )
      .argument("<bundle>", "policy bundle"),
  )
    .option("--jobs <n>", "levels to check at a time", wholeNumber, availableParallelism())
    .option("--json", "one JSON document on stdout")
    .action(async (path: string, { jobs, ...flags }: { jobs: number } & SignatureFlags) => {
      const { verifyCommand } = await import("./commands/verify.ts");
      const { verifySigned } = await import("stratagem-runtime/internal/commands/verify-signature");
      const signature = signatureOptions(flags, epochMs);
      const verify = () => {
        return watched("checking levels", (watch) => verifyCommand(path, { jobs, ...watch }));
      };
      print(await verifySigned(path, signature, verify));
    });
}

/** Adds the options that say how the machine differs from its profile. */
function withMachine(command: Command): Command {
  return command
    .option("--pace <factor>", "service times of all workers relative to the profile, such as 1.5")
    .option(
      "--slow <share,factor,spell>",
      "slow spells of each worker: part of the time, factor, mean length, such as 0.5,1.5,200ms",
    )
    .option(
      "--worker-pace <worker=factor>",
      "service times of one worker, such as 3=2.0; repeat for more workers",
      (value: string, before: string[] = []) => [...before, value],
    )
    .option("--lose <n@time>", "workers lost for good at a time, such as 4@10s")
    .option("--no-adapt", "decide as if the machine were as profiled");
}

export function addSimulate(program: Command, { watched, print, nowMs }: BundleTools): void {
  withMachine(program.command("simulate"))
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
        "cg-mean-autoscale or cg-peak-autoscale; of scaled stages: fa2, sponge or themis; of " +
        "both: kpa, hpa, keda, ray-serve, dynamo or infaas; of malleable pipelines: " +
        "slo-conforming, fastest, bbs or one-stage",
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
}

export function addReport(program: Command, { watched, print }: BundleTools): void {
  program
    .command("report")
    .description("write one HTML page that shows what a bundle does and promises")
    .argument("<bundle>", "policy bundle")
    .requiredOption("-o, --out <file>", "where to write the page")
    .option(
      "--simulation <file>",
      "show what simulate --json printed; may be repeated",
      collect,
      [],
    )
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
}

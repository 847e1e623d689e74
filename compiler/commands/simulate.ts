/** The command `simulate`. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import type { LevelPoolOptions } from "../processes/level-pool.ts";
import { collect, withArrivals } from "./options.ts";
import type { SimulateOptions } from "./simulate/simulate.ts";
import { MORTAL, type Tools } from "./watched.ts";

const LOGGED = "; log:PLACE for those of a decision log, an access log, or a URL with either";

export function addSimulate(program: Command, { watched, print, nowMs }: Tools): void {
  const command = program
    .command("simulate")
    .description("run a bundle's decisions on a virtual clock")
    .argument("<bundle>", "policy bundle");
  withPolicy(withMachine(withArrivals(command, LOGGED)))
    .addOption(
      new Option(
        "--fanout <kind>",
        "queries that one sends on: as near the mean as whole numbers can be, or Poisson",
      )
        .choices(["rounded", "poisson"])
        .default("rounded"),
    )
    .option("--write-trace <file>", "write the arrivals of a log as a trace, for specs too")
    .action(async (bundle: string, options: Omit<SimulateOptions, "bundle">) => {
      const { simulateCommand } = await import("./simulate/simulate.ts");
      const jobs = availableParallelism();
      const run = (watch: LevelPoolOptions) =>
        simulateCommand({ bundle, ...options }, { nowMs, ...watch });
      print(await watched("planning the baseline", (watch) => run({ jobs, ...watch }), MORTAL));
    });
}

/** Adds the options that say how the machine differs from its profile. */
function withMachine(command: Command): Command {
  return command
    .option(
      "--pace <factor>",
      "service times relative to the profile, of all workers, such as 1.5, or of one, such as " +
        "3=2.0 (repeatable)",
      collect,
    )
    .option(
      "--slow <share,factor,spell>",
      "slow spells of each worker: part of the time, factor, mean length, such as 0.5,1.5,200ms",
    )
    .option("--lose <n@time>", "workers lost for good at a time, such as 4@10s")
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
    );
}

/** Adds the options that say what decides. */
function withPolicy(command: Command): Command {
  return command
    .option("--no-adapt", "decide as if the machine were as profiled")
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
    );
}

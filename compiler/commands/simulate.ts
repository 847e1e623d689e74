/** Command `simulate`. */

import { type Command, Option } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import type { LevelPoolOptions } from "../processes/level-pool.ts";
import { collect, withArrivals } from "./options.ts";
import type { SimulateOptions } from "./simulate/simulate.ts";
import { ENDS_AT_ONCE, type Tools } from "./watched.ts";

const LOGGED = "; log:PLACE for a decision log, an access log, or a URL with either";

export function addSimulate(program: Command, { watched, print, nowMs }: Tools): void {
  const command = program
    .command("simulate")
    .description("run a bundle's decisions on a virtual clock")
    .argument("<bundle>", "policy bundle");
  withPolicy(withMachine(withArrivals(command, LOGGED)))
    .option("--write-trace <file>", "write the arrivals of a log as a trace, for specs too")
    .action(async (bundle: string, options: Omit<SimulateOptions, "bundle">) => {
      const { simulateCommand } = await import("./simulate/simulate.ts");
      const jobs = parallelism();
      const run = (watch: LevelPoolOptions) =>
        simulateCommand({ bundle, ...options }, { nowMs, ...watch });
      print(
        await watched("planning the baseline", (watch) => run({ jobs, ...watch }), ENDS_AT_ONCE),
      );
    });
}

/** Adds the options that change the machine relative to its profile. */
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
      "slow periods of each worker: share of time, factor, mean length, such as 0.5,1.5,200ms",
    )
    .option("--lose <n@time>", "workers lost permanently at a time, such as 4@10s")
    .addOption(
      new Option(
        "--service-times <kind>",
        "the profile's percentile, or sampled from its quantiles (default: sampled if the " +
          "bundle has quantiles and a serving path, otherwise p95)",
      ).choices(["p95", "sampled"]),
    )
    .option(
      "--without <stations>",
      "leave out the serving path (path), contention between workers (contention), " +
        "or both (path,contention)",
    );
}

/** Adds the options that select the policy. */
function withPolicy(command: Command): Command {
  return command
    .option("--no-adapt", "decide as if the machine were as profiled")
    .option(
      "--baseline <name>",
      "policy to simulate instead: fixed:VARIANT, greedy, jellyfish, model-switching, proteus, " +
        "symphony, slackfit, slackfit-b, clockwork, nexus, infaas, maxacc or maxbatch; of a " +
        "pipeline: inferline or proteus; of provisioned stages: cg-mean, cg-peak, " +
        "cg-mean-autoscale or cg-peak-autoscale; of scaled stages: fa2, sponge or themis; of " +
        "both: kpa, hpa, keda, ray-serve, dynamo or infaas; of malleable pipelines: " +
        "slo-conforming, fastest, bbs or one-stage",
    )
    .option(
      "--tuned",
      "tune the baseline, from proteus to maxbatch, on other " +
        "arrivals of the same kind, or an autoscaler, from kpa to infaas, on the same arrivals",
    )
    .option(
      "--scaling-delay <who>",
      "scaler that starts the replicas of a plan: hpa, keda, or keda:10s for another polling " +
        "(default: they start at once)",
    );
}

/** Command `capacity`. */

import { type Command, Option } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import type { CapacityFlags } from "./capacity/capacity.ts";
import { inputsOption, timeMs } from "./options.ts";
import type { Tools, Watch } from "./watched.ts";

export function addCapacity(program: Command, tools: Tools): void {
  const { watched, print, nowMs, compiler } = tools;
  program
    .command("capacity")
    .description("find the largest load that keeps the SLO, by simulation or on a running server")
    .argument("<place>", "policy bundle, application spec, or URL of a server")
    .option("--slo <time>", "latency above which an answer is late (default: the SLO)")
    .option(
      "--late <share>",
      "share of requests that may be late or lost, such as 1% (default: that of the SLO)",
    )
    .option("--confidence <share>", "confidence of the stated loads", "99%")
    .addOption(
      new Option("--duration <time>", "duration of all load on a server, up to 5min")
        .argParser(timeMs)
        .default(90_000, "90s"),
    )
    .addOption(inputsOption())
    .action(async (place: string, flags: CapacityFlags) => {
      const { capacityCommand } = await import("./capacity/capacity.ts");
      const around = { nowMs, compiler, jobs: parallelism() };
      const run = (watch: Watch) => capacityCommand(place, flags, { ...around, ...watch });
      print(await watched("capacity", run));
    });
}

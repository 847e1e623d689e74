/** Command `bench`: loads a running server. */
import type { Command } from "commander";
import type { BenchOptions } from "../load/bench.ts";
import { ARRIVALS_HELP, durationOption, withInputs } from "./options.ts";
import type { Tools, Watch } from "./watched.ts";

export function addBench(program: Command, { watched, print, nowMs }: Tools): void {
  const command = program
    .command("bench")
    .description("send load to a running server")
    .argument("<url>", "such as http://127.0.0.1:8000")
    .option("--arrivals <process>", ARRIVALS_HELP)
    .option("--concurrency <n>", "requests in flight, instead of arrivals");
  withInputs(command.addOption(durationOption()))
    .option("--slo <time>", "latency above which an answer is late, such as 50ms")
    .option(
      "--slo-class <name>",
      "SLO class of all queries, with its SLO unless --slo is given; all for a mix of all " +
        "classes by the shares of the server",
    )
    .option("--model <name>", "name of the model (default: the first one served)")
    .action(async (url: string, options: Omit<BenchOptions, "url">) => {
      const { benchCommand } = await import("../load/bench.ts");
      const run = (watch: Watch) => benchCommand({ url, ...options }, { nowMs, ...watch });
      print(await watched("seconds", run));
    });
}

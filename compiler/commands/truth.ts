/** The command `truth`. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/commands/command-line";
import { seedOption, timeMs, withInputs } from "./options.ts";
import { TOLD, type Tools, type Watch } from "./watched.ts";

interface TruthFlags {
  readonly out?: string;
  readonly profile?: string;
  readonly loads: number;
  readonly duration: number;
  readonly runs: number;
  readonly seed: string;
  readonly models?: string;
  readonly inputs?: string;
  readonly labels?: string;
}

export function addTruth(program: Command, tools: Tools): void {
  const { watched, print, nowMs, epochMs, every } = tools;
  const command = program
    .command("truth")
    .description("find out whether an application's promises hold on this machine")
    .argument("<app>", "application spec, YAML or JSON")
    .option("-o, --out <folder>", "where profile, bundle, document and a page are kept")
    .option("--profile <file>", "a profile of this machine (default: it is measured first)")
    .option("--models <folder>", "where the models are (default: where the spec says)");
  withInputs(command)
    .option("--loads <n>", "how many of the levels' loads to send", wholeNumber, 3)
    .addOption(
      new Option("--duration <time>", "how long each is sent, such as 30s")
        .argParser(timeMs)
        .default(10_000, "10s"),
    )
    .option("--runs <n>", "how often each is sent", wholeNumber, 1)
    .addOption(seedOption())
    .action(async (app: string, flags: TruthFlags) => {
      const { truthCommand } = await import("../truth/truth.ts");
      const { out = null, profile = null, models = null, inputs = null, labels = null } = flags;
      const files = { app, out, profile, models, inputs, labels };
      const run = (watch: Watch) => {
        const pause = async (ms: number) => {
          await tools.sleep(ms);
          watch.signal.throwIfAborted();
        };
        const clocks = { nowMs, epochMs, every, pause };
        const around = { jobs: availableParallelism(), ...clocks, ...watch };
        return truthCommand({ ...flags, ...files }, around);
      };
      print(await watched("truth", run, TOLD));
    });
}

/** Command `truth`. */

import { type Command, Option } from "commander";
import { parallelism } from "stratagem-runtime/internal/base/control-groups";
import { wholeNumber } from "stratagem-runtime/internal/commands/command-line";
import { timeMs, withInputs } from "./options.ts";
import { type Tools, type Watch, WITH_LINES } from "./watched.ts";

interface TruthFlags {
  readonly out?: string;
  readonly profile?: string;
  readonly loads: number;
  readonly duration: number;
  readonly runs: number;
  readonly inputs?: string;
  readonly labels?: string;
}

export function addTruth(program: Command, tools: Tools): void {
  const { watched, print, nowMs, epochMs, every } = tools;
  const command = program
    .command("truth")
    .description("check whether an application's promises hold on this machine")
    .argument("<app>", "application spec, YAML or JSON")
    .option("-o, --out <folder>", "output folder for profile, bundle, document and page")
    .option("--profile <file>", "profile of this machine (default: measured first)");
  withInputs(command)
    .option("--loads <n>", "number of the levels' loads to send", wholeNumber, 3)
    .addOption(
      new Option("--duration <time>", "duration of each load, such as 30s")
        .argParser(timeMs)
        .default(10_000, "10s"),
    )
    .option("--runs <n>", "runs of each load", wholeNumber, 1)
    .action(async (app: string, flags: TruthFlags) => {
      const { truthCommand } = await import("../truth/truth.ts");
      const { out = null, profile = null, inputs = null, labels = null } = flags;
      const files = { app, out, profile, inputs, labels };
      const run = (watch: Watch) => {
        const pause = async (ms: number) => {
          await tools.sleep(ms);
          watch.signal.throwIfAborted();
        };
        const clocks = { nowMs, epochMs, every, pause };
        const around = { jobs: parallelism(), ...clocks, ...watch };
        return truthCommand({ ...flags, ...files }, around);
      };
      print(await watched("truth", run, WITH_LINES));
    });
}

/** The commands that measure servers: `bench` and `truth`. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { BenchOptions } from "../load/bench.ts";
import { count } from "./option-values.ts";
import { type Clock, TOLD, type Watch, type Watched } from "./watched.ts";

/** What the program has that these commands need. */
export interface MeasuringTools extends Clock {
  readonly watched: Watched;
  readonly print: (result: CommandResult) => void;
  /** Since 1970. */
  readonly epochMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** The program's own file, which servers are started with. */
  readonly cli: string;
  /** As provenance names it. */
  readonly compiler: string;
}

interface TruthFlags {
  readonly out?: string;
  readonly profile?: string;
  readonly loads: number;
  readonly seconds: number;
  readonly runs: number;
  readonly retries: number;
  readonly seed: string;
  readonly models?: string;
  readonly inputs?: string;
  readonly labels?: string;
}

export function addBench(program: Command, { watched, print, nowMs }: MeasuringTools): void {
  program
    .command("bench")
    .description("send open-loop load to a running server")
    .argument("<url>", "such as http://127.0.0.1:8000")
    .addOption(new Option("--poisson <qps>", "Poisson arrivals").conflicts(["gamma", "trace"]))
    .addOption(new Option("--gamma <qps,cv2>", "gamma inter-arrival times").conflicts("trace"))
    .option("--trace <file>", "arrivals or rates from a file, plain or .gz")
    .option("--duration <time>", "such as 30s or 5 min (default: 30s, or the whole trace)")
    .option("--slo <time>", "an answer that takes longer is late, such as 50ms")
    .option("--slo-class <name>", "the class of all queries, whose SLO holds unless --slo is given")
    .addOption(
      new Option(
        "--slo-classes",
        "queries of every class, drawn by the shares that the server states",
      ).conflicts(["slo", "sloClass"]),
    )
    .option("--seed <n>", "of the arrivals", "1")
    .option("--warm-up <n>", "requests sent first and not counted", "0")
    .option("--model <name>", "which model (default: the first one served)")
    .option("--inputs <file>", "rows to send, raw bytes one after another (default: zeros)")
    .option("--labels <file>", "the right class of each row, one number per line")
    .option("--json", "one JSON document on stdout")
    .action(async (url: string, options: Omit<BenchOptions, "url">) => {
      const { benchCommand } = await import("../load/bench.ts");
      const run = (watch: Watch) => benchCommand({ url, ...options }, { nowMs, ...watch });
      print(await watched("seconds", run));
    });
}

export function addTruth(program: Command, tools: MeasuringTools): void {
  const { watched, print, nowMs, epochMs, every } = tools;
  program
    .command("truth")
    .description("find out whether an application's promises hold on this machine")
    .argument("<app>", "application spec, YAML or JSON")
    .option("--profile <file>", "a profile of this machine (default: it is measured first)")
    .option("--loads <n>", "how many of the levels' loads to send", wholeNumber, 3)
    .option("--seconds <n>", "how long each is sent", wholeNumber, 10)
    .option("--runs <n>", "how often each is sent", wholeNumber, 1)
    .option("--retries <n>", "times to repeat a run that others disturbed", count, 2)
    .option("--seed <n>", "of the arrivals", "1")
    .option("--models <folder>", "where the models are (default: where the spec says)")
    .option("--inputs <file>", "rows to send, or a folder of request bodies (default: zeros)")
    .option("--labels <file>", "the right class of each row, one number per line")
    .option("-o, --out <folder>", "where profile, bundle, document and a page are kept")
    .option("--json", "one JSON document on stdout")
    .action(async (app: string, flags: TruthFlags) => {
      const { truthCommand } = await import("./truth.ts");
      const { out = null, profile = null, models = null, inputs = null, labels = null } = flags;
      const { loads: loadCount, seconds, runs, retries, seed } = flags;
      const files = { app, out, profile, models, inputs, labels };
      const command = { ...files, loads: loadCount, seconds, runs, retries, seed };
      const run = (watch: Watch) => {
        const pause = async (ms: number) => {
          await tools.sleep(ms);
          watch.signal.throwIfAborted();
        };
        const clocks = { nowMs, epochMs, every, pause };
        return truthCommand(command, { jobs: availableParallelism(), ...clocks, ...watch });
      };
      print(await watched("truth", run, TOLD));
    });
}

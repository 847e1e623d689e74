/** The commands that look at what a server did: `explain`, `replay` and `recalibrate`. */
import type { Command } from "commander";
import { positiveNumber, wholeNumber } from "stratagem-runtime/internal/command-line";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { ExplainOptions } from "../explain/explain-log.ts";
import { collect } from "./option-values.ts";

/** Runs long work that a signal ends, and prints what it gives. */
export type RunAndPrint = (
  label: string,
  work: (signal: AbortSignal) => Promise<CommandResult>,
) => Promise<void>;

export function addExplain(program: Command, run: RunAndPrint): void {
  program
    .command("explain")
    .description("say why a request, or a span of time, went as it did, from the access log")
    .argument("<logs...>", "files that serve --access-log wrote, plain or .gz, or patterns")
    .requiredOption("--policy <bundle>", "the bundle that was served")
    .option("--request <id>", "the request to explain, by its id")
    .option("--minute <time>", "the minute to explain, such as 2026-11-23T14:05, in UTC")
    .option("--from <time>", "the begin of the time to explain, with --to")
    .option("--to <time>", "its end")
    .option("--json", "one JSON document on stdout")
    .action(async (logs: string[], flags: Omit<ExplainOptions, "logs">) => {
      const { explainCommand } = await import("../explain/explain-log.ts");
      await run("reading the log", (signal) => explainCommand({ logs, ...flags }, signal));
    });
}

export function addReplay(program: Command, run: RunAndPrint): void {
  program
    .command("replay")
    .description("decide again, by the bundle alone, what a decision log says was decided")
    .argument("<logs...>", "files that serve --decision-log wrote, or patterns")
    .requiredOption("--policy <bundle>", "the bundle that was served (repeatable)", several)
    .option("--json", "one JSON document on stdout")
    .action(async (logs: string[], { policy }: { readonly policy: readonly string[] }) => {
      const { replayCommand } = await import("../replay/replay-log.ts");
      await run("replaying the log", (signal) => replayCommand({ logs, policy }, signal));
    });
}

/** Of an option without a default, which is required. */
function several(value: string, earlier?: readonly string[]): string[] {
  return collect(value, earlier ?? []);
}

interface RecalibrateFlags {
  readonly metrics: string;
  readonly profile: string;
  readonly out: string;
  readonly minSamples: number;
  readonly accuracy?: string;
  readonly policy?: string;
  readonly pool?: string;
  readonly model?: string;
  readonly busyWorkers?: number;
}

/** Samples below which a 99th percentile is the longest of them. */
const MIN_SAMPLES = 100;

/** @param epochMs now, since 1970. */
export function addRecalibrate(program: Command, run: RunAndPrint, epochMs: () => number): void {
  program
    .command("recalibrate")
    .description("write a profile with what a server measured, for the next compile")
    .requiredOption("--metrics <place>", "URL of a server, or a file of what its /metrics said")
    .requiredOption("--profile <file>", "the profile that the served bundle was compiled from")
    .requiredOption("-o, --out <file>", "where to write the new profile")
    .option("--min-samples <n>", "batches that a cell needs", wholeNumber, MIN_SAMPLES)
    .option("--accuracy <place>", "URL or file of GET /v2/models/M/feedback, for accuracies")
    .option("--policy <bundle>", "the served bundle, where names or hardware differ by pool")
    .option("--pool <name>", "the only pool that counts")
    .option("--model <name>", "the only application that counts")
    .option("--busy-workers <n>", "workers that computed at a time, in the mean", positiveNumber)
    .option("--json", "one JSON document on stdout")
    .action(async (flags: RecalibrateFlags) => {
      const { recalibrateCommand } = await import("../recalibrate/recalibrate.ts");
      const { accuracy = null, policy = null, pool = null, model = null } = flags;
      const { busyWorkers = null } = flags;
      const command = { ...flags, accuracy, policy, pool, model, busyWorkers };
      await run("reading the metrics", (signal) => {
        return recalibrateCommand(command, epochMs(), signal);
      });
    });
}

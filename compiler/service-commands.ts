/** The commands that look at what a server did: `explain`. */
import type { Command } from "commander";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { ExplainOptions } from "./commands/explain.ts";

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
    .requiredOption("--request <id>", "the request to explain, by its id")
    .option("--json", "one JSON document on stdout")
    .action(async (logs: string[], flags: Omit<ExplainOptions, "logs">) => {
      const { explainCommand } = await import("./commands/explain.ts");
      await run("reading the log", (signal) => explainCommand({ logs, ...flags }, signal));
    });
}

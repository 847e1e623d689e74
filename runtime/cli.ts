#!/usr/bin/env node
/** bin `stratagem-runtime`: argv → commands. The only file of the runtime that prints for people and sets the exit code. */
import { Command, CommanderError, InvalidArgumentError } from "commander";
import type { CommandResult } from "./commands/command-result.ts";
import { EXIT_CODE_BY_ERROR, EXIT_CODES, isRuntimeError } from "./errors.ts";

const wantsJson = process.argv.includes("--json");

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader such as `head` has enough.
  if (error.code !== "EPIPE") throw error;
});

const program = new Command("stratagem-runtime")
  .description("Reads the policy bundles that stratagem compiles.")
  .exitOverride();

program
  .command("inspect")
  .description("show what a bundle says")
  .argument("<bundle>", "policy bundle")
  .option("--level <qps>", "the policy of the level that decides at this load", positiveNumber)
  .option("--state <state>", "the decision in a state, such as queued=7,slack=40ms")
  .option("--json", "one JSON document on stdout")
  .action(async (path: string, options: { level?: number; state?: string }) => {
    const { inspectCommand } = await import("./commands/inspect.ts");
    const loadQps = options.level ?? null;
    print(await inspectCommand({ path, loadQps, state: options.state ?? null }));
  });

program
  .command("verify")
  .description("check integrity, schema and semantics of a bundle")
  .argument("<bundle>", "policy bundle")
  .option("--json", "one JSON document on stdout")
  .action(async (path: string) => {
    const { verifyCommand } = await import("./commands/verify.ts");
    print(await verifyCommand(path));
  });

try {
  await program.parseAsync();
} catch (error) {
  fail(error);
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("expected a number of queries per second above 0");
}

function print({ text, json, exitCode }: CommandResult): void {
  process.stdout.write(wantsJson ? `${JSON.stringify(json, null, 2)}\n` : `${text}\n`);
  process.exitCode = exitCode;
}

function fail(error: unknown): void {
  if (error instanceof CommanderError) {
    // Commander has already said what it had to; help and version end with 0.
    process.exitCode = error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    if (error.exitCode !== 0) printErrorDocument("RUNTIME_USAGE", error.message);
  } else if (isRuntimeError(error)) {
    process.stderr.write(`${error.code} ${error.message}\n`);
    printErrorDocument(error.code, error.message);
    process.exitCode = EXIT_CODE_BY_ERROR[error.code];
  } else {
    process.stderr.write(`internal error: ${error instanceof Error ? error.stack : error}\n`);
    process.exitCode = EXIT_CODES.internal;
  }
}

function printErrorDocument(code: string, message: string): void {
  if (wantsJson) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
}

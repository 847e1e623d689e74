/** What the two command lines share: printing results, explaining errors, and the verbs both have. */
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import type { CommandResult } from "./commands/command-result.ts";
import { EXIT_CODE_BY_ERROR, EXIT_CODES, isRuntimeError } from "./errors.ts";

/** An error that is not a bug: told in one line, with an exit code of its own. */
export interface ExplainedError {
  readonly code: string;
  readonly message: string;
  readonly exitCode: number;
}

/** Parses argv and runs a verb. @param explain errors beyond the runtime's own, null for what it does not know. */
export async function runProgram(
  program: Command,
  explain: (error: unknown) => ExplainedError | null = () => null,
): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader such as `head` has enough.
    if (error.code !== "EPIPE") throw error;
  });
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) failUsage(error);
    else fail(error, explain(error) ?? explainRuntimeError(error));
  }
}

/** Prints text or, with `--json`, the one document, and sets the exit code. */
export function print({ text, json, exitCode }: CommandResult): void {
  process.stdout.write(wantsJson() ? `${JSON.stringify(json, null, 2)}\n` : `${text}\n`);
  process.exitCode = exitCode;
}

/** Adds `inspect`, which needs no solver. */
export function addInspect(program: Command): void {
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
}

/** An option value that has to be a finite number above 0. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("expected a number above 0");
}

function wantsJson(): boolean {
  return process.argv.includes("--json");
}

/** Commander has already said what it had to; help and version are no failures. */
function failUsage({ exitCode, message }: CommanderError): void {
  process.exitCode = exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
  if (exitCode !== 0) printErrorDocument("RUNTIME_USAGE", message);
}

function explainRuntimeError(error: unknown): ExplainedError | null {
  if (!isRuntimeError(error)) return null;
  const { code, message } = error;
  return { code, message, exitCode: EXIT_CODE_BY_ERROR[code] };
}

function fail(error: unknown, explained: ExplainedError | null): void {
  if (explained === null) {
    const detail = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`internal error, please report it: ${detail}\n`);
    process.exitCode = EXIT_CODES.internal;
    return;
  }
  const { code, message, exitCode } = explained;
  process.stderr.write(`${code} ${message}\n`);
  printErrorDocument(code, message);
  process.exitCode = exitCode;
}

function printErrorDocument(code: string, message: string): void {
  if (wantsJson()) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
}

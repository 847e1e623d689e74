/** Parts that both command lines share: loading commands, printing, and reporting errors. */
import { constants } from "node:os";
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import {
  EXIT_CODE_BY_ERROR,
  EXIT_CODES,
  isRuntimeError,
  isShortage,
  RuntimeError,
} from "../base/errors.ts";
import { onceNpmIsGone } from "../base/npm-parent.ts";
import type { Kind } from "../kinds/kinds.ts";
import { removedCommand, removedOptionIn } from "../settings/removed.ts";
import type { CommandResult } from "./command-result.ts";

/** An error that is not a bug: reported in one line, with an exit code of its own. */
export interface ExplainedError extends ReportedError {
  readonly exitCode: number;
  /** Further errors of the same input, each reported in one line. */
  readonly others?: readonly ReportedError[];
}

/** A command, whose options are loaded on demand. */
export interface Verb {
  readonly name: string;
  readonly add: (program: Command) => Promise<void>;
}

interface ReportedError {
  readonly code: string;
  readonly message: string;
}

const VERSION_FLAGS: readonly string[] = ["--version", "-V"];
const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** Maximum number of errors printed: they fit a screen. `--json` has all of them. */
const MAX_PRINTED_ERRORS = 20;

/**
 * Parses argv and runs a command; only that command is loaded. Every end of the process but that by
 * a signal is reported here: also by an error that nothing caught, and with work that is pending
 * although nothing is left that could end it, which Node reports by exit code 13 alone.
 * @param explain errors beyond the runtime's own, null for unknown errors.
 */
export async function runProgram(
  program: Command,
  verbs: readonly Verb[],
  explain: (error: unknown) => ExplainedError | null = () => null,
): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader such as `head` has read enough.
    if (error.code !== "EPIPE") throw error;
  });
  const [name, ...words] = process.argv.slice(2);
  // Tests run several programs in one process.
  process.off("uncaughtException", onUncaught).on("uncaughtException", onUncaught);
  const onPending = () => fail(`${name}: the process ended with work pending`, null);
  process.once("beforeExit", onPending);
  program
    .option("--json", "one JSON document on stdout")
    .configureHelp({ showGlobalOptions: true });
  try {
    const removed = removedCommand(name) ?? removedOptionIn(name, words);
    if (removed !== null) throw new RuntimeError("RUNTIME_USAGE", removed);
    for (const { add } of askedVerbs(verbs, name)) await add(program);
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) failUsage(error);
    else fail(error, explain(error) ?? explainRuntimeError(error));
  } finally {
    process.off("beforeExit", onPending);
  }
}

function onUncaught(error: Error): never {
  fail(error, null);
  process.exit();
}

/** In their order, those that the first argument needs: help, say, and mistakes need all. */
function askedVerbs(verbs: readonly Verb[], first: string | undefined): readonly Verb[] {
  if (first !== undefined && VERSION_FLAGS.includes(first)) return [];
  const asked = verbs.find(({ name }) => name === first);
  return asked === undefined ? verbs : [asked];
}

/** Prints text or, with `--json`, the document, and sets the exit code. */
export function print({ text, json, exitCode }: CommandResult): void {
  process.stdout.write(wantsJson() ? `${JSON.stringify(json, null, 2)}\n` : `${text}\n`);
  process.exitCode = exitCode;
}

/**
 * Aborts at the first SIGTERM or SIGINT; the second ends the process as without a handler. The end
 * of npm, if it started the process, counts as a first signal, and the abort reason says so.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  let isStopping = false;
  const onSignal = (signal: (typeof STOP_SIGNALS)[number]) => {
    if (isStopping) {
      for (const each of STOP_SIGNALS) process.off(each, onSignal);
      process.kill(process.pid, signal);
      // The first process of a container is not ended by a signal that it does not handle.
      process.exit(128 + constants.signals[signal]);
    }
    isStopping = true;
    stop.abort();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  onceNpmIsGone(process.env, () => stop.abort("npm, which started this server, is gone"));
  return stop.signal;
}

/** Parses an option value that has to be a whole number above 0. */
export function wholeNumber(text: string): number {
  const value = positiveNumber(text);
  if (Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("expected a whole number above 0");
}

/** Reads an option value as a setting of that kind is read. */
export function readAs<T>({ read, expected }: Kind<T>): (text: string) => T {
  return (text) => {
    const value = read(text);
    if (value === undefined) throw new InvalidArgumentError(`expected ${expected}`);
    return value;
  };
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

/** Commander has printed its message already; help and version are not failures. */
function failUsage({ exitCode, message }: CommanderError): void {
  process.exitCode = exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
  if (exitCode !== 0) printErrorDocument("RUNTIME_USAGE", message);
}

function explainRuntimeError(error: unknown): ExplainedError | null {
  if (isShortage(error)) {
    const help = "raise the limit of open files (ulimit -n), processes or memory";
    return explainRuntimeError(new RuntimeError("RUNTIME_MEANS", `${error.message}; ${help}`));
  }
  if (!isRuntimeError(error)) return null;
  const { code, message } = error;
  return { code, message, exitCode: EXIT_CODE_BY_ERROR[code] };
}

/** @param explained null for a bug. */
function fail(error: unknown, explained: ExplainedError | null): void {
  const { code, message, exitCode, others = [] } = explained ?? explainBug(error);
  process.stderr.write(`${errorLines([{ code, message }, ...others]).join("\n")}\n`);
  printErrorDocument(code, message, others);
  process.exitCode = exitCode;
}

function explainBug(error: unknown): ExplainedError {
  const detail = error instanceof Error ? error.stack : String(error);
  const message = `internal error, please report it: ${detail}`;
  return { code: "RUNTIME_INTERNAL", message, exitCode: EXIT_CODES.internal };
}

/** Returns a line for each error, and one with the number left out. */
function errorLines(errors: readonly ReportedError[]): string[] {
  const shown = errors.slice(0, MAX_PRINTED_ERRORS);
  const left = errors.length - shown.length;
  return [
    ...shown.map(({ code, message }) => `${code} ${message}`),
    ...(left === 0 ? [] : [`and ${left} more; --json prints all`]),
  ];
}

function printErrorDocument(
  code: string,
  message: string,
  others: readonly ReportedError[] = [],
): void {
  if (!wantsJson()) return;
  const error = { code, message, ...(others.length === 0 ? {} : { others }) };
  process.stdout.write(`${JSON.stringify({ error })}\n`);
}

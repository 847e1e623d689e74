/**
 * What the two command lines share: printing results, explaining errors, and the verbs both have.
 */
import { constants } from "node:os";
import { Argument, type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { CommandResult } from "./commands/command-result.ts";
import type { ServeTools } from "./commands/serve.ts";
import type { TokenCommand } from "./commands/token.ts";
import type { Shell } from "./completion/script.ts";
import { EXIT_CODE_BY_ERROR, EXIT_CODES, isRuntimeError } from "./errors.ts";
import type { ActionValuesOf } from "./methods/method.ts";
import { onceNpmIsGone } from "./npm-parent.ts";
import { addSettingFlags, givenFlags } from "./settings/flags.ts";

/** An error that is not a bug: told in one line, with an exit code of its own. */
export interface ExplainedError extends ToldError {
  readonly exitCode: number;
  /** What else is wrong with the same input, each told in a line too. */
  readonly others?: readonly ToldError[];
}

interface ToldError {
  readonly code: string;
  readonly message: string;
}

const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** Errors that are told at once, unless `--all-errors` asks for all: they fit a screen. */
const MAX_TOLD_ERRORS = 20;

/**
 * Parses argv and runs a verb.
 * @param explain errors beyond the runtime's own, null for what it does not know.
 */
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

/**
 * Adds `inspect`.
 * @param actionValuesOf what a state's actions are worth, where there is a solver.
 */
export function addInspect(program: Command, actionValuesOf?: ActionValuesOf): void {
  program
    .command("inspect")
    .description("show what a bundle says")
    .argument("<bundle>", "policy bundle")
    .option("--level <qps>", "the policy of the level that decides at this load", positiveNumber)
    .option(
      "--state <state>",
      "the decision in a state, such as queued=7,slack=40ms; class=NAME beside it",
    )
    .option("--json", "one JSON document on stdout")
    .action(async (path: string, options: { level?: number; state?: string }) => {
      const { inspectCommand } = await import("./commands/inspect.ts");
      const loadQps = options.level ?? null;
      const state = options.state ?? null;
      print(await inspectCommand({ path, loadQps, state }, actionValuesOf));
    });
}

export function addDiff(program: Command): void {
  program
    .command("diff")
    .description("say how two bundles differ; exit with 2 if they do")
    .argument("<before>", "policy bundle")
    .argument("<after>", "policy bundle")
    .option("--all", "every difference, and not only a screen of them")
    .option("--json", "one JSON document on stdout")
    .action(async (before: string, after: string, { all = false }: { all?: boolean }) => {
      const { diffCommand } = await import("./commands/diff.ts");
      print(await diffCommand(before, after, all));
    });
}

/**
 * Adds `serve`.
 * @param tools what there is where the compiler is.
 */
export function addServe(program: Command, tools: ServeTools = {}): void {
  const command = program
    .command("serve")
    .description(
      "answer inference requests as bundles say, until SIGTERM or SIGINT; SIGHUP reads them again",
    );
  addSettingFlags(command)
    .optionsGroup("Options:")
    .addOption(new Option("--config <file>", "settings in YAML or JSON").env("STRATAGEM_CONFIG"))
    .option("--print-config", "show every setting, its value and where it is from, and end")
    .option("--json", "one JSON document on stdout, once it serves")
    .addHelpText("after", "\nEvery setting is a variable too: STRATAGEM_MAX_BODY is --max-body.")
    .action(async ({ config, printConfig }: { config?: string; printConfig?: boolean }) => {
      const { servedSettings, serveCommand } = await import("./commands/serve.ts");
      const flags = givenFlags(command.opts(), (key) => command.getOptionValueSource(key));
      const settings = await servedSettings(flags, process.env, config);
      if (printConfig === true) {
        const { printedSettings } = await import("./commands/print-settings.ts");
        print(printedSettings(settings));
        return;
      }
      await serveCommand(settings, tools, {
        signal: stopSignal(),
        onReady: print,
        environment: process.env,
        onReload: (reload) => process.on("SIGHUP", reload),
      });
    });
}

/** Adds `token`. */
export function addToken(program: Command): void {
  program
    .command("token")
    .description("make a token for serve --tokens, and the line of its file")
    .requiredOption("--name <name>", "whose it is: letters, digits and . _ @ + -")
    .option("--scopes <scopes>", "what for: infer, admin, metrics, with commas", "infer")
    .option("--expires <time>", "from when it is none, such as 2027-01-31 (default: never)")
    .addOption(
      new Option("--hash <name>", "how it is kept; scrypt is slow on purpose")
        .choices(["sha256", "scrypt"])
        .default("sha256"),
    )
    .option("--json", "one JSON document on stdout")
    .action(async (options: TokenCommand) => {
      const { tokenCommand } = await import("./commands/token.ts");
      print(await tokenCommand(options));
    });
}

/** Adds `completion`; every verb that is added before or after is completed. */
export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print what lets a shell complete this command")
    .addArgument(new Argument("<shell>", "which shell").choices(["bash", "zsh", "fish"]))
    .option("--json", "one JSON document on stdout")
    .action(async (shell: Shell) => {
      const { completionScript } = await import("./completion/script.ts");
      const script = completionScript(program, shell);
      print({ exitCode: EXIT_CODES.ok, text: script.trimEnd(), json: { shell, script } });
    });
}

/**
 * Aborts at the first SIGTERM or SIGINT; the second, whichever it is, ends the process as if there
 * were no handler. Where npm started the process and is gone, that is as good as a first, and its
 * reason says so.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  let isTold = false;
  const onSignal = (signal: (typeof STOP_SIGNALS)[number]) => {
    if (isTold) {
      for (const each of STOP_SIGNALS) process.off(each, onSignal);
      process.kill(process.pid, signal);
      // The first process of a container is not ended by a signal that it does not handle.
      process.exit(128 + constants.signals[signal]);
    }
    isTold = true;
    stop.abort();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  onceNpmIsGone(process.env, () => stop.abort("npm, which started this server, is gone"));
  return stop.signal;
}

/** An option value that has to be a whole number above 0. */
export function wholeNumber(text: string): number {
  const value = positiveNumber(text);
  if (Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("expected a whole number above 0");
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
  const { code, message, exitCode, others = [] } = explained;
  process.stderr.write(`${errorLines([{ code, message }, ...others]).join("\n")}\n`);
  printErrorDocument(code, message, others);
  process.exitCode = exitCode;
}

/** A line for each error, and one that says how many are left out. */
function errorLines(errors: readonly ToldError[]): string[] {
  const isAll = process.argv.includes("--all-errors") || errors.length <= MAX_TOLD_ERRORS;
  const told = isAll ? errors : errors.slice(0, MAX_TOLD_ERRORS);
  const left = errors.length - told.length;
  return [
    ...told.map(({ code, message }) => `${code} ${message}`),
    ...(left === 0 ? [] : [`and ${left} more; --all-errors shows them all`]),
  ];
}

function printErrorDocument(
  code: string,
  message: string,
  others: readonly ToldError[] = [],
): void {
  if (!wantsJson()) return;
  const error = { code, message, ...(others.length === 0 ? {} : { others }) };
  process.stdout.write(`${JSON.stringify({ error })}\n`);
}

/** What there is to complete on a command line, from the options that commander knows. */
import type { Command, Option } from "commander";

/** What a value is, where a shell can help. */
export type Completed =
  | { readonly kind: "none" }
  | { readonly kind: "file" }
  | { readonly kind: "folder" }
  | { readonly kind: "words"; readonly words: readonly string[] };

export interface CompletedOption {
  /** Such as `-o` and `--out`. */
  readonly flags: readonly string[];
  readonly help: string;
  /** Undefined for an option without a value. */
  readonly value: Completed | undefined;
}

export interface CompletedVerb {
  readonly name: string;
  readonly help: string;
  readonly options: readonly CompletedOption[];
  /** Of its arguments, in turn; the last one also stands for those that follow. */
  readonly args: readonly Completed[];
}

export interface CompletedProgram {
  readonly name: string;
  readonly options: readonly CompletedOption[];
  readonly verbs: readonly CompletedVerb[];
}

/** Words in the brackets of a value or an argument that stand for files and folders. */
const FILES = new Set(["file", "bundle", "app", "before", "after"]);
const FOLDERS = new Set(["folder"]);
const HELP: CompletedOption = { flags: ["-h", "--help"], help: "show help", value: undefined };

export function completedProgram(program: Command): CompletedProgram {
  return {
    name: program.name(),
    options: optionsOf(program),
    verbs: [...program.commands].map((command) => ({
      name: command.name(),
      help: firstLine(command.description()),
      options: optionsOf(command),
      args: command.registeredArguments.map((argument) =>
        argument.argChoices === undefined
          ? completedOf(argument.name())
          : { kind: "words", words: argument.argChoices },
      ),
    })),
  };
}

function optionsOf(command: Command): CompletedOption[] {
  const shown = command.options.filter(({ hidden }) => !hidden);
  return [...shown.map(completedOption), HELP];
}

function completedOption(option: Option): CompletedOption {
  const { short, long, description, required, optional, argChoices, flags } = option;
  const isFlag = !required && !optional;
  const sign = flags.split(/[<[]/)[1]?.slice(0, -1) ?? "";
  return {
    flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
    help: firstLine(description),
    value: isFlag
      ? undefined
      : argChoices === undefined
        ? completedOf(sign)
        : { kind: "words", words: argChoices },
  };
}

function completedOf(sign: string): Completed {
  if (FOLDERS.has(sign)) return { kind: "folder" };
  return FILES.has(sign) ? { kind: "file" } : { kind: "none" };
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** A completion script for fish 3 and later. */
import type { Completed, CompletedOption, CompletedProgram, CompletedVerb } from "./tree.ts";

export function fishScript({ name, options, verbs }: CompletedProgram): string {
  const all = `complete -c ${name}`;
  const before = `${all} -n __fish_use_subcommand`;
  const lines = [
    `# Completion of ${name} for fish: ${name} completion fish | source`,
    `${all} -e`,
    `${all} -f`,
    ...options.map((option) => `${before} ${optionText(option)}`),
    ...verbs.map((verb) => `${before} -a ${verb.name} -d ${quoted(verb.help)}`),
    ...verbs.flatMap((verb) => verbLines(all, verb)),
  ];
  return `${lines.join("\n")}\n`;
}

function verbLines(all: string, { name, options, args }: CompletedVerb): string[] {
  const after = `${all} -n '__fish_seen_subcommand_from ${name}'`;
  const values = new Set(args.map(valueText));
  return [
    ...options.map((option) => `${after} ${optionText(option)}`),
    ...[...values].filter((text) => text !== "").map((text) => `${after} ${text}`),
  ];
}

function optionText({ flags, help, value }: CompletedOption): string {
  const names = flags.map((flag) =>
    flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
  );
  const told = `-d ${quoted(help)}`;
  if (value === undefined) return [...names, told].join(" ");
  // A value has to follow; files are offered only where it may be one.
  const required = value.kind === "file" ? "-r" : "-x";
  const text = valueText(value);
  return [...names, required, ...(text === "" ? [] : [text]), told].join(" ");
}

function valueText(value: Completed): string {
  if (value.kind === "file") return "-F";
  if (value.kind === "folder") return "-a '(__fish_complete_directories)'";
  return value.kind === "words" ? `-a ${quoted(value.words.join(" "))}` : "";
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, (character) => `\\${character}`)}'`;
}

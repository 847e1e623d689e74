/** A completion script for zsh: a file `_NAME` of `fpath`, or to be sourced. */
import type { Completed, CompletedOption, CompletedProgram, CompletedVerb } from "./tree.ts";

export function zshScript({ name, options, verbs }: CompletedProgram): string {
  const own = `_${name}`;
  const described = verbs.map((verb) => `    ${quoted(`${verb.name}:${verb.help}`)}`);
  return `#compdef ${name}
# Completion of ${name} for zsh: source <(${name} completion zsh), after compinit.
${own}() {
  local context state state_descr line
  typeset -A opt_args
  local -a verbs=(
${described.join("\n")}
  )
  _arguments -C \\
${options.map((option) => `    ${optionSpec(option)} \\`).join("\n")}
    '1: :->verb' '*:: :->rest'
  case $state in
    verb) _describe -t commands command verbs ;;
    rest)
      case $words[1] in
${verbs.map(verbCase).join("\n")}
      esac ;;
  esac
}
if [[ $funcstack[1] == ${own} ]]; then ${own} "$@"; else compdef ${own} ${name}; fi
`;
}

function verbCase({ name, options, args }: CompletedVerb): string {
  const specs = [
    ...options.map(optionSpec),
    ...args.map((value, index) => `${quoted(`${index + 1}: :${action(value)}`)}`),
  ];
  const lines = specs.map((spec) => `          ${spec}`).join(" \\\n");
  return `        ${name})\n          _arguments \\\n${lines} ;;`;
}

/** An option with a value may be given again. */
function optionSpec({ flags, help, value }: CompletedOption): string {
  const told = `[${escaped(help)}]`;
  if (value === undefined) {
    const exclusive = flags.length > 1 ? quoted(`(${flags.join(" ")})`) : "";
    return `${exclusive}${alternatives(flags)}${quoted(told)}`;
  }
  // With = at its end a long one takes its value in the same word too.
  const names = flags.map((flag) => (flag.startsWith("--") ? `${flag}=` : flag));
  return `'*'${alternatives(names)}${quoted(`${told}: :${action(value)}`)}`;
}

function alternatives(flags: readonly string[]): string {
  return flags.length > 1 ? `{${flags.join(",")}}` : (flags[0] ?? "");
}

function action(value: Completed): string {
  if (value.kind === "file") return "_files";
  if (value.kind === "folder") return "_files -/";
  return value.kind === "words" ? `(${value.words.join(" ")})` : " ";
}

function escaped(help: string): string {
  return help.replace(/[[\]:\\]/g, (character) => `\\${character}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

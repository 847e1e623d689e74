/** A completion script for bash 3.2 and later. */
import type { Completed, CompletedOption, CompletedProgram, CompletedVerb } from "./tree.ts";

export function bashScript({ name, options, verbs }: CompletedProgram): string {
  const own = `_${name.replaceAll("-", "_")}_completion`;
  const verbWords = [...verbs.map((verb) => verb.name), ...flagsOf(options)].join(" ");
  return `# Completion of ${name} for bash: source <(${name} completion bash)
${own}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} IFS=$'\\n'
  local verb='' word='' isValue='' i count=0
  # bash takes the = of --flag=value for a word.
  if [[ $cur == '=' ]]; then cur=''
  elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -z $verb ]]; then
      [[ $word == -* ]] || verb=$word
    elif [[ -n $isValue ]]; then
      [[ $word == '=' ]] || isValue=''
    else
      case "$verb $word" in
${withValues(verbs)}
        *' -'*) ;;
        *) count=$((count + 1)) ;;
      esac
    fi
  done
  COMPREPLY=()
  if [[ -z $verb ]]; then
    COMPREPLY=($(IFS=' '; compgen -W '${verbWords}' -- "$cur"))
    return
  fi
  case "$verb $prev" in
${verbs.flatMap((verb) => verb.options.flatMap((option) => valueLines(verb, option))).join("\n")}
  esac
  if [[ $cur == -* ]]; then
    case $verb in
${verbs.map((verb) => `      ${verb.name}) ${words(flagsOf(verb.options))} ;;`).join("\n")}
    esac
    return
  fi
  case "$verb $count" in
${verbs.flatMap(argumentLines).join("\n")}
  esac
}
complete -F ${own} ${name}
`;
}

/** A case that takes the next word for a value. */
function withValues(verbs: readonly CompletedVerb[]): string {
  const patterns = verbs.flatMap((verb) =>
    verb.options
      .filter(({ value }) => value !== undefined)
      .flatMap(({ flags }) => flags.map((flag) => `'${verb.name} ${flag}'`)),
  );
  const lines = patterns.map((pattern) => `        ${pattern}) isValue=yes ;;`);
  return lines.join("\n");
}

function valueLines(verb: CompletedVerb, { flags, value }: CompletedOption): string[] {
  if (value === undefined) return [];
  const pattern = flags.map((flag) => `'${verb.name} ${flag}'`).join(" | ");
  return [`    ${pattern}) ${completed(value)}; return ;;`];
}

function argumentLines({ name, args }: CompletedVerb): string[] {
  return args.map((value, index) => `    '${name} ${index}') ${completed(value)} ;;`);
}

function completed(value: Completed): string {
  if (value.kind === "words") return words(value.words);
  if (value.kind === "none") return ":";
  const option = value.kind === "file" ? "-f" : "-d";
  // So that a slash follows a folder; bash 3.2 has no compopt.
  const asFiles = "compopt -o filenames 2> /dev/null";
  return `COMPREPLY=($(compgen ${option} -- "$cur")); ${asFiles}`;
}

function words(list: readonly string[]): string {
  return `COMPREPLY=($(IFS=' '; compgen -W '${list.join(" ")}' -- "$cur"))`;
}

function flagsOf(options: readonly CompletedOption[]): string[] {
  return options.flatMap(({ flags }) => flags);
}

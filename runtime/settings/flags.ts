/** Settings as options of a command line. */
import { type Command, Option } from "commander";
import { flagOf, type Setting } from "../kinds/setting.ts";
import { noFlagOf } from "./resolve.ts";
import { isLimit, SETTING_GROUPS } from "./table.ts";

/** Adds an option for each setting, and one for all limits; values stay as written. */
export function addSettingFlags(command: Command): Command {
  for (const { title, settings } of SETTING_GROUPS) {
    command.optionsGroup(`${title}:`);
    for (const [key, setting] of Object.entries(settings))
      if (!isLimit(key)) command.addOption(optionOf(key, setting));
  }
  const limit = new Option("--limit <name=value>", "a limit of docs/settings.md (repeatable)");
  command.addOption(limit.argParser((text, before: readonly string[] = []) => [...before, text]));
  return command;
}

function optionOf(key: string, setting: Setting): Option {
  const { kind, fallback, otherwise } = setting;
  const isTrue = fallback === true;
  const flag = isTrue ? noFlagOf(key) : [flagOf(key), kind.sign].join(" ").trim();
  const initial = fallback === null ? otherwise : fallback === false ? "" : kind.write(fallback);
  const suffix = isTrue || initial === "" ? "" : ` (default: ${initial})`;
  const help = isTrue ? `do not ${setting.help}` : setting.help;
  const option = new Option(flag, `${help}${suffix}`);
  // Only for the help text: values are checked together with those of variables and files.
  if (kind.choices !== undefined) option.argChoices = [...kind.choices];
  if (kind.isList === true) {
    option.argParser((text, before: readonly string[] = []) => {
      // Paths may contain commas; other lists are separated by them.
      const isWhole = key === "policy" || key === "models" || kind.hasCommas === true;
      return isWhole ? [...before, text] : [...before, ...text.split(",")];
    });
  }
  return option;
}

/** Returns the given values by key; a `--no-…` option that was not given is true. */
export function givenFlags(
  options: Readonly<Record<string, unknown>>,
  sourceOf: (key: string) => string | undefined,
): Record<string, unknown> {
  const given = Object.entries(options).filter(([key]) => sourceOf(key) === "cli");
  return Object.fromEntries(given);
}

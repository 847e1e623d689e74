/** The settings as options of a command line. */
import { type Command, Option } from "commander";
import { flagOf, type Setting } from "../kinds/setting.ts";
import { noFlagOf } from "./resolve.ts";
import { isLimit, SETTING_GROUPS } from "./table.ts";

/** Adds an option for each setting, one for all limits; values stay as they were written. */
export function addSettingFlags(command: Command): Command {
  for (const { title, settings } of SETTING_GROUPS) {
    command.optionsGroup(`${title}:`);
    for (const [key, setting] of Object.entries(settings))
      if (!isLimit(key)) command.addOption(optionOf(key, setting));
  }
  const limit = new Option("--limit <name=value>", "limit by its name in docs/settings.md");
  command.addOption(limit.argParser((text, before: readonly string[] = []) => [...before, text]));
  return command;
}

function optionOf(key: string, setting: Setting): Option {
  const { kind, fallback, otherwise } = setting;
  const isTrue = fallback === true;
  const flag = isTrue ? noFlagOf(key) : [flagOf(key), kind.sign].join(" ").trim();
  const usual = fallback === null ? otherwise : fallback === false ? "" : kind.write(fallback);
  const told = isTrue || usual === "" ? "" : ` (default: ${usual})`;
  const help = isTrue ? `do not ${setting.help}` : setting.help;
  const option = new Option(flag, `${help}${told}`);
  // For help alone: a value is judged where those of variables and files are.
  if (kind.choices !== undefined) option.argChoices = [...kind.choices];
  if (kind.isList === true) {
    option.argParser((text, before: readonly string[] = []) => {
      // Paths may have commas; other lists are written with them.
      const isWhole = key === "policy" || key === "models" || kind.hasCommas === true;
      return isWhole ? [...before, text] : [...before, ...text.split(",")];
    });
  }
  return option;
}

/** What was given, by key; options that say no are true where they were not. */
export function givenFlags(
  options: Readonly<Record<string, unknown>>,
  sourceOf: (key: string) => string | undefined,
): Record<string, unknown> {
  const given = Object.entries(options).filter(([key]) => sourceOf(key) === "cli");
  return Object.fromEntries(given);
}

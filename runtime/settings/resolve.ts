/** Resolves each setting from its flag, its variable, the settings file or its default. */
import { RuntimeError } from "../base/errors.ts";
import { suggestion } from "../base/nearest.ts";
import { splitPair } from "../kinds/device-kinds.ts";
import { flagOf, type Setting, variableOf } from "../kinds/setting.ts";
import type { SettingsFile } from "./file.ts";
import { removedVariable } from "./removed.ts";
import { isLimit, LIMIT_NAMES, SETTINGS, type SettingValues } from "./table.ts";

const LIMIT_FLAG = "--limit";
const LIMIT_VARIABLE = "STRATAGEM_LIMIT";

/** Values, and their sources: a flag, a variable, a file, or "default". */
export interface Resolved {
  readonly values: SettingValues;
  readonly sources: Readonly<Record<string, string>>;
}

/**
 * @param flags given flags by key; undefined for others.
 * @throws RuntimeError RUNTIME_USAGE or RUNTIME_CONFIG at the first invalid value.
 */
export function resolveSettings(
  flags: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv = {},
  file?: SettingsFile,
): Resolved {
  const values: Record<string, unknown> = {};
  const sources: Record<string, string> = {};
  const removed = removedVariable(environment);
  if (removed !== null) throw new RuntimeError("RUNTIME_USAGE", removed);
  const limits = {
    flags: limitsOf(flags["limit"], LIMIT_FLAG),
    variables: limitsOf(environment[LIMIT_VARIABLE]?.split(","), LIMIT_VARIABLE),
  };
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const written = isLimit(key)
      ? [
          { value: limits.flags[key], source: `${LIMIT_FLAG} ${key}` },
          { value: limits.variables[key], source: `${LIMIT_VARIABLE} ${key}` },
        ]
      : [
          { value: flags[key], source: flags[key] === false ? noFlagOf(key) : flagOf(key) },
          { value: environment[variableOf(key)] || undefined, source: variableOf(key) },
        ];
    const ofFile = { value: file?.values[key], source: file?.path ?? "" };
    const found = [...written, ofFile].find(({ value }) => value !== undefined);
    values[key] = found === undefined ? setting.fallback : readFrom(found, key, setting, file);
    sources[key] = found?.source ?? "default";
  }
  // Every key of the table has a value of its kind.
  return { values: values as unknown as SettingValues, sources };
}

/** @throws RuntimeError RUNTIME_USAGE, or RUNTIME_CONFIG for a value of the file. */
function readFrom(
  { value: given, source }: { readonly value: unknown; readonly source: string },
  key: string,
  { kind }: Setting,
  file: SettingsFile | undefined,
): unknown {
  const value = kind.read(given);
  if (value !== undefined) return value;
  const isOfFile = source === file?.path;
  throw new RuntimeError(
    isOfFile ? "RUNTIME_CONFIG" : "RUNTIME_USAGE",
    `${isOfFile ? `${file.placeOf(key)}: ${key}` : source}: ` +
      `expected ${kind.expected}, got ${shown(given)}`,
  );
}

/** Parses limits by name, from texts such as `maxBody=64MiB`. @throws RuntimeError RUNTIME_USAGE */
function limitsOf(texts: unknown, source: string): Readonly<Record<string, string>> {
  const limits: Record<string, string> = {};
  for (const text of Array.isArray(texts) ? (texts as readonly string[]) : []) {
    const { name, value } = splitPair(text);
    if (!isLimit(name) || value === "") {
      const hint = suggestion(name || text, LIMIT_NAMES);
      const expected = "expected NAME=VALUE with the name of a limit";
      throw new RuntimeError("RUNTIME_USAGE", `${source}: ${expected}, got "${text}"${hint}`);
    }
    limits[name] = value;
  }
  return limits;
}

/** Name of the flag for a setting that is true by default. */
export function noFlagOf(key: string): string {
  return flagOf(key).replace("--", "--no-");
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

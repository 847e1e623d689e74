/** The value of each setting: of its flag, its variable, the file, or what is usual. */
import { RuntimeError } from "../errors.ts";
import { removedVariable } from "../removed.ts";
import type { SettingsFile } from "./file.ts";
import { flagOf, type Setting, variableOf } from "./setting.ts";
import { SETTINGS, type SettingValues } from "./table.ts";

/** Where a value is from: a flag, a variable, a file, or "default". */
export interface Resolved {
  readonly values: SettingValues;
  readonly sources: Readonly<Record<string, string>>;
}

/**
 * @param flags as the command line has them, by key; undefined where one was not given.
 * @throws RuntimeError RUNTIME_USAGE or RUNTIME_CONFIG at the first value that is not allowed.
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
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const { value, source } = found(key, setting, flags, environment, file);
    values[key] = value;
    sources[key] = source;
  }
  // Every key of the table has a value of its kind.
  return { values: values as unknown as SettingValues, sources };
}

function found(
  key: string,
  setting: Setting,
  flags: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
  file: SettingsFile | undefined,
): { readonly value: unknown; readonly source: string } {
  const read = (given: unknown, source: string) => {
    const value = setting.kind.read(given);
    if (value !== undefined) return { value, source };
    const isOfFile = source === file?.path;
    const where = isOfFile ? `${file.placeOf(key)}: ${key}` : source;
    throw new RuntimeError(
      isOfFile ? "RUNTIME_CONFIG" : "RUNTIME_USAGE",
      `${where}: expected ${setting.kind.expected}, got ${told(given)}`,
    );
  };
  const [flag, variable] = [flags[key], variableOf(key)];
  if (flag !== undefined) return read(flag, flag === false ? noFlagOf(key) : flagOf(key));
  const ofVariable = environment[variable];
  if (ofVariable !== undefined && ofVariable !== "") return read(ofVariable, variable);
  if (file?.values[key] !== undefined) return read(file.values[key], file.path);
  return { value: setting.fallback, source: "default" };
}

/** Of what is true by default. */
export function noFlagOf(key: string): string {
  return flagOf(key).replace("--", "--no-");
}

function told(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** The settings file: YAML, which includes JSON. */
import { LineCounter, parseDocument } from "yaml";
import { RuntimeError } from "../base/errors.ts";
import { suggestion } from "../base/nearest.ts";
import { readRegularFile } from "../base/regular-file.ts";
import { removedSetting } from "./removed.ts";
import { isLimit, LIMIT_NAMES, SETTINGS } from "./table.ts";

export interface SettingsFile {
  readonly path: string;
  /** Values as written, by key, including those under `limits`. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Position of a key, such as `serve.yaml:3:1`. */
  placeOf(key: string): string;
}

const LIMITS_KEY = "limits";
/** Far more than all settings take. */
const MAX_BYTES = 2 ** 16;

/** @throws RuntimeError RUNTIME_UNREADABLE, or RUNTIME_CONFIG for an invalid file. */
export async function readSettingsFile(path: string): Promise<SettingsFile> {
  const text = await textOf(path);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    logLevel: "error",
  });
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${path}:${line}:${col}`;
  };
  const refuse = (offset: number, message: string) =>
    new RuntimeError("RUNTIME_CONFIG", `${placeAt(offset)}: ${message}`);
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault !== undefined) throw refuse(fault.pos[0], fault.message);
  let values: unknown;
  try {
    values = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw refuse(0, `expected no aliases: ${(error as Error).message}`);
  }
  if (values === null) return { path, values: {}, placeOf: () => path };
  if (typeof values !== "object" || Array.isArray(values)) {
    throw refuse(0, "expected a map of settings, such as policy: bundle.msgpack");
  }
  const pathOf = (key: string) => (isLimit(key) ? [LIMITS_KEY, key] : [key]);
  const offsetOf = (path: readonly string[]) => {
    const range = document.getIn(path, true) as { readonly range?: readonly number[] } | undefined;
    return range?.range?.[0] ?? 0;
  };
  const { [LIMITS_KEY]: given, ...others } = values as Readonly<Record<string, unknown>>;
  const limits = given ?? {};
  if (typeof limits !== "object" || Array.isArray(limits)) {
    throw refuse(offsetOf([LIMITS_KEY]), "limits: expected a map, such as maxBody: 64MiB");
  }
  const names = Object.keys(SETTINGS).filter((key) => !isLimit(key));
  for (const key of Object.keys(others)) {
    if (names.includes(key)) continue;
    const removed = removedSetting(key);
    if (removed !== null) throw refuse(offsetOf([key]), removed);
    const hint = suggestion(key, names);
    throw refuse(offsetOf([key]), `expected a setting, got "${key.slice(0, 100)}"${hint}`);
  }
  for (const key of Object.keys(limits)) {
    if (isLimit(key)) continue;
    const hint = suggestion(key, LIMIT_NAMES);
    const message = `expected the name of a limit, got "${key.slice(0, 100)}"${hint}`;
    throw refuse(offsetOf([LIMITS_KEY, key]), message);
  }
  return {
    path,
    values: { ...others, ...limits },
    placeOf: (key) => placeAt(offsetOf(pathOf(key))),
  };
}

async function textOf(path: string): Promise<string> {
  const { bytes, isTooLarge } = await readRegularFile(path, MAX_BYTES).catch((error) => {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: expected a file, got ${reason}`);
  });
  if (!isTooLarge) return bytes.toString();
  throw new RuntimeError("RUNTIME_CONFIG", `${path}: expected at most ${MAX_BYTES} bytes`);
}

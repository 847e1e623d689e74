/** The file that settings may be in: YAML, of which JSON is a part. */
import { LineCounter, parseDocument } from "yaml";
import { RuntimeError } from "../errors.ts";
import { readRegularFile } from "../regular-file.ts";
import { removedSetting } from "../removed.ts";
import { suggestion } from "../tell/nearest.ts";
import { SETTINGS } from "./table.ts";

export interface SettingsFile {
  readonly path: string;
  /** As they are written, by key. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Of a key, such as `serve.yaml:3:1`. */
  placeOf(key: string): string;
}

/** Far more than all settings take. */
const MAX_BYTES = 2 ** 16;

/** @throws RuntimeError RUNTIME_UNREADABLE, or RUNTIME_CONFIG for what is no such file. */
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
    throw refuse(0, "expected settings by their names, such as maxBody: 64MiB");
  }
  const offsetOf = (key: string) => {
    const range = document.getIn([key], true) as { readonly range?: readonly number[] } | undefined;
    return range?.range?.[0] ?? 0;
  };
  for (const key of Object.keys(values)) {
    if (Object.hasOwn(SETTINGS, key)) continue;
    const removed = removedSetting(key);
    if (removed !== null) throw refuse(offsetOf(key), removed);
    const hint = suggestion(key, Object.keys(SETTINGS));
    throw refuse(offsetOf(key), `expected a setting, got "${key.slice(0, 100)}"${hint}`);
  }
  return {
    path,
    values: values as Readonly<Record<string, unknown>>,
    placeOf: (key) => placeAt(offsetOf(key)),
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

/** Reads a module, code of the user or of a package, as a variant of a task. */
import { stat } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { PACKAGE_SPECIFIER } from "stratagem-runtime/internal/bundle/limits";
import { assert } from "stratagem-runtime/internal/core/assert";
import { InputError } from "../spec/document/input-error.ts";
import { hostVariantOf } from "../spec/host-tasks.ts";
import type { ModuleOptions } from "./kit-options.ts";
import type { Reader, ReadModel } from "./read-model.ts";
import type { SuggestedUse } from "./suggested-use.ts";

const UNUSED: SuggestedUse = {
  axes: {},
  constants: {},
  state: {},
  tried: [],
  outputs: null,
  whole: [],
};
/** Rows of a module's run: a module with another number of rows in an output multiplies them. */
const PROBED_ROWS = 2;

/**
 * @param folder of the spec.
 * @throws InputError for a module that does not open with the options.
 */
export async function readModule(
  path: string,
  chosen: ModuleOptions,
  folder: string,
  reader: Reader,
): Promise<ReadModel> {
  const name = isModuleFile(path) ? fileInSpec(path, folder) : path;
  const { options } = chosen;
  const variant = { kind: "module", model: name, options } as const;
  const source = hostVariantOf(variant, folder, () => resolve(path));
  assert(source !== null, "a module is no ONNX file");
  try {
    const model = await reader.readHost(source);
    const { ranMs, counted } = (await reader.probeHost(source, PROBED_ROWS)) ?? NO_PROBE;
    const sample = await reader.sample(source, 1, 1);
    const described = { model, axisNames: {} };
    const module = { ...chosen, name, sample };
    return { path, bytes: 0, described, use: UNUSED, model, ranMs, counted, module };
  } catch (error) {
    const given = Object.keys(options).length === 0 ? "" : ` with ${JSON.stringify(options)}`;
    const reason = error instanceof Error ? error.message : String(error);
    const remedy = /^ENOENT|^cannot resolve/.test(reason)
      ? ""
      : "; give its options defaults, or write the spec by hand as docs/models.md shows";
    const message = `${path}: cannot open this module${given}: ${reason}${remedy}`;
    throw new InputError("INPUT_INVALID_VALUE", message);
  }
}

const NO_PROBE = { ranMs: 0, counted: [] };

/** Whether an argument is the file of a module, and not a package's. */
function isModuleFile(path: string): boolean {
  return /\.[cm]?[jt]s$/i.test(path);
}

/** Whether an argument is a module: code, or something that a package has. */
export async function isModule(path: string): Promise<boolean> {
  if (isModuleFile(path)) return true;
  if (/\.(onnx|ort)$/i.test(path) || !PACKAGE_SPECIFIER.test(path)) return false;
  return (await stat(path).catch(() => null)) === null;
}

/** Path of a file relative to the spec; one of code begins with a dot or a slash. */
export function fileInSpec(path: string, folder: string): string {
  const file = relative(folder, resolve(path)).replaceAll(sep, "/");
  return isModuleFile(path) && !file.startsWith("../") ? `./${file}` : file;
}

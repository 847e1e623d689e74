/** Variants that are not ONNX files: ES modules, and models on other servers. */
import { MAX_OPTIONS_LENGTH, PACKAGE_SPECIFIER } from "stratagem-runtime/internal/bundle/limits";
import type { HostVariant } from "./application.ts";
import type { KeyPath } from "./document/document.ts";
import { conflict, invalid, type Mistake, missing, show } from "./document/mistakes.ts";
import { chainMistakes, oneModelOf } from "./model-files.ts";
import type { TaskSpec } from "./schema/application-schema.ts";

type VariantSpec = TaskSpec["variants"][number];

/** Finds missing or invalid keys for the kind of a variant. */
export function* kindMistakes(variant: VariantSpec, path: KeyPath): Generator<Mistake> {
  const { kind = "onnx", options, url } = variant;
  yield* chainMistakes(variant, path);
  const model = oneModelOf(variant);
  if (url !== undefined && kind !== "remote") {
    yield conflict(
      [...path, "url"],
      `expected none for kind: ${kind}; only kind: remote has a url`,
    );
  }
  if (options !== undefined && kind !== "module") {
    yield conflict(
      [...path, "options"],
      `expected none for kind: ${kind}; only kind: module has options`,
    );
  }
  if (kind === "remote") {
    if (url === undefined) yield missing([...path, "url"], "the server, such as http://host:8000");
    if (variant.model === undefined)
      yield missing([...path, "model"], "the name of a model of that server");
  }
  if (kind === "module" && variant.model === undefined) {
    const expected = "a path such as ./crop.mjs, or the specifier of a package";
    yield missing([...path, "model"], expected);
  }
  const isSpecifier = model !== undefined && kind === "module" && !isModulePath(model);
  if (isSpecifier && !PACKAGE_SPECIFIER.test(model)) {
    const expected =
      "a path such as ./crop.mjs, or the specifier of a package such as package/entry";
    yield invalid([...path, "model"], expected, show(model));
  }
  if (kind === "onnx" && model !== undefined && /\.[cm]?[jt]s$/.test(model)) {
    const found = `${show(model)}; code needs kind: module`;
    yield invalid([...path, "model"], "an ONNX file", found);
  }
  if (kind !== "onnx") {
    for (const key of ["axes", "padding", "inputs", "outputs", "constants", "resize"] as const) {
      if (variant[key] === undefined) continue;
      yield conflict([...path, key], `expected none for kind: ${kind}; only kind: onnx has them`);
    }
  }
  if (options === undefined) return;
  const { length } = canonicalJson(options);
  if (length > MAX_OPTIONS_LENGTH) {
    const expected = `at most ${MAX_OPTIONS_LENGTH} characters as JSON`;
    yield invalid([...path, "options"], expected, String(length));
  }
}

/** Returns whether a module is a file path instead of a package. */
function isModulePath(model: string): boolean {
  return /^(\.{0,2}[\\/]|[a-z]:[\\/])/i.test(model);
}

/**
 * Returns the module or remote model of a variant; null for an ONNX file.
 * @param folder of the spec, absolute. @param pathOf resolves the file of a module.
 */
export function hostVariantOf(
  variant: Pick<VariantSpec, "kind" | "model" | "options" | "url">,
  folder: string,
  pathOf: (model: string) => string,
): HostVariant | null {
  const { kind, options = {}, url = "" } = variant;
  const model = oneModelOf(variant) ?? "";
  if (kind === "remote") return { kind, url: url.endsWith("/") ? url.slice(0, -1) : url, model };
  if (kind !== "module") return null;
  const isPath = isModulePath(model);
  return {
    kind,
    path: isPath ? pathOf(model) : null,
    specifier: isPath ? null : model,
    options: canonicalJson(options),
    folder,
  };
}

/** Key within the application's models; equal for identical models. */
export function hostKey(host: HostVariant): string {
  if (host.kind === "remote") return `${host.url}/v2/models/${host.model}`;
  const name = host.path ?? host.specifier ?? "";
  return host.options === "{}" ? name : `${name} ${host.options}`;
}

/** Returns JSON with keys in ascending order at all levels. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

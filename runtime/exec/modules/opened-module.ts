/** Opens an ES module that runs as a model, and checks its declarations. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { TensorInfo } from "../../bundle/schema.ts";
import type { HostDatatype, HostModule, HostTensorInfo } from "../tensors/host-module.ts";
import { HOST_DATATYPES, tensorInfoOf } from "../tensors/host-tensors.ts";

interface ModuleToOpen {
  /** Path of its entry. */
  readonly path: string;
  readonly options: string;
  readonly folder: string;
  readonly cores: number;
  /** Expected digest of the entry; undefined accepts any. */
  readonly sha256?: string | undefined;
}

export interface OpenedModule {
  readonly module: HostModule;
  /** Digest of the entry. */
  readonly sha256: string;
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  /** Accepted batch sizes, largest first; null for any. */
  readonly batches: readonly number[] | null;
}

const MAX_TENSORS = 256;
const MAX_RANK = 15;
const MAX_SIZE = 2 ** 31;
const MAX_BATCHES = 64;

/**
 * @throws Error if the digest differs, the module cannot be loaded, or a declaration is invalid.
 */
export async function openModule(asked: ModuleToOpen): Promise<OpenedModule> {
  const { path, options, folder, cores, sha256: wanted } = asked;
  const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
  if (wanted !== undefined && sha256 !== wanted) {
    throw new Error(
      `the file changed while it was served: expected SHA-256 ${wanted}, got ${sha256}; ` +
        "restore the old content, or restart",
    );
  }
  const imported: { readonly default?: unknown } = await import(pathToFileURL(path).href);
  const open = imported.default;
  if (typeof open !== "function") {
    throw new Error(`expected a function as its default export, got ${kindOf(open)}`);
  }
  const module: unknown = await open({ options: JSON.parse(options), folder, cores });
  return { ...described(module), sha256 };
}

function described(module: unknown): Omit<OpenedModule, "sha256"> {
  if (typeof module !== "object" || module === null) {
    throw new Error(
      `expected the function to return { inputs, outputs, run }, got ${kindOf(module)}`,
    );
  }
  // Not a copy: methods of a class are not own properties.
  const parts = module as Readonly<Record<string, unknown>>;
  for (const key of ["run", "sample", "close"]) {
    const part = parts[key];
    if (typeof part === "function" || (part === undefined && key !== "run")) continue;
    throw new Error(`expected ${key} to be a function, got ${kindOf(part)}`);
  }
  const inputs = tensorsOf(parts["inputs"], "inputs");
  const outputs = tensorsOf(parts["outputs"], "outputs");
  const batches = batchesOf(parts["batches"]);
  return { module: module as HostModule, inputs, outputs, batches };
}

function tensorsOf(value: unknown, side: string): TensorInfo[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_TENSORS) {
    throw new Error(`expected ${side} to be a list of 1 to ${MAX_TENSORS}, got ${kindOf(value)}`);
  }
  const names = new Set<string>();
  return value.map((one: unknown, index) => {
    const info = declaredTensor(one, `${side}[${index}]`);
    if (names.has(info.name)) throw new Error(`${side}: two tensors are named "${info.name}"`);
    names.add(info.name);
    return tensorInfoOf(info);
  });
}

function declaredTensor(value: unknown, at: string): HostTensorInfo {
  if (typeof value !== "object" || value === null) {
    throw new Error(`${at}: expected { name, datatype, shape }, got ${kindOf(value)}`);
  }
  const { name, datatype, shape } = value as Readonly<Record<keyof HostTensorInfo, unknown>>;
  if (typeof name !== "string" || !/^[^\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]{1,1024}$/u.test(name)) {
    throw new Error(`${at}.name: expected one line of text, got ${kindOf(name)}`);
  }
  if (!isDatatype(datatype)) {
    const found = typeof datatype === "string" ? JSON.stringify(datatype) : kindOf(datatype);
    const allowed = HOST_DATATYPES.join(", ");
    throw new Error(`${at}.datatype: expected one of ${allowed}, got ${found}`);
  }
  if (!isRowShape(shape)) {
    throw new Error(
      `${at}.shape: expected the shape of one row, at most ${MAX_RANK} sizes, each −1 or 1 to ` +
        `${MAX_SIZE}, got ${Array.isArray(shape) ? `[${shape.join(", ")}]` : kindOf(shape)}`,
    );
  }
  return { name, datatype, shape };
}

function isDatatype(value: unknown): value is HostDatatype {
  return HOST_DATATYPES.some((each) => each === value);
}

function isRowShape(shape: unknown): shape is readonly number[] {
  return (
    Array.isArray(shape) &&
    shape.length <= MAX_RANK &&
    shape.every((size) => Number.isInteger(size) && size <= MAX_SIZE && (size > 0 || size === -1))
  );
}

function batchesOf(value: unknown): readonly number[] | null {
  if (value === undefined || value === null) return null;
  const isList =
    Array.isArray(value) &&
    value.length <= MAX_BATCHES &&
    value.every((size) => Number.isInteger(size) && size > 0 && size <= 2 ** 16) &&
    value.includes(1);
  if (isList) return [...new Set<number>(value)].sort((a, b) => b - a);
  const found = Array.isArray(value) ? `[${value.join(", ")}]` : kindOf(value);
  throw new Error(`expected batches to be null or a list of sizes that includes 1, got ${found}`);
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

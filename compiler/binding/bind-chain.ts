/**
 * Combines several ONNX files that run in sequence into one model: which values each passes to the
 * next, by name, and the inputs and outputs of the whole.
 */
import { basename } from "node:path";
import type { ModelPart, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import type { Binding } from "../spec/binding.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { conflict, type Mistake, show } from "../spec/document/mistakes.ts";
import type { Bound } from "./bind-model.ts";

/** Input or output with its file. */
interface Value {
  readonly file: string;
  readonly tensor: TensorInfo;
}

/**
 * Uses the tensors of the files unchanged: axes, renaming and output forms are not supported.
 * @param paths at least two, in execution order.
 * @param at place of the variant in the spec.
 * @throws Error naming a file that is not a model.
 */
export async function bindChain(
  paths: readonly string[],
  binding: Binding | undefined,
  at: KeyPath,
  reader: Pick<ModelReader, "describe">,
): Promise<Bound> {
  if (binding !== undefined) {
    const message =
      "axes, padding, inputs, outputs, constants and resize need a model of one file; " +
      `the tensors of these ${paths.length} files are used unchanged`;
    return { mistakes: [conflict(at, message)] };
  }
  const files: ModelPart[] = [];
  for (const path of paths) files.push(await described(path, reader));
  const [first, ...parts] = files;
  const last = parts.at(-1);
  if (first === undefined || last === undefined)
    throw new RangeError("expected at least two files");
  const { inputs, mistakes } = chained(files, at);
  if (mistakes.length > 0) return { mistakes };
  return { model: { ...first, inputs, outputs: last.outputs, parts } };
}

async function described(path: string, reader: Pick<ModelReader, "describe">): Promise<ModelPart> {
  try {
    const { file, sha256, inputs, outputs } = (await reader.describe(path)).model;
    return { file, sha256, inputs, outputs };
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "Error") throw error;
    throw new Error(`${basename(path)}: ${error.message}`);
  }
}

/** External inputs: those of the first file, then those that no earlier file produces. */
function chained(
  files: readonly ModelPart[],
  at: KeyPath,
): { readonly inputs: readonly TensorInfo[]; readonly mistakes: readonly Mistake[] } {
  const outside = new Map<string, Value>();
  const given = new Map<string, Value & { readonly index: number }>();
  const used = new Set<number>();
  const mistakes: Mistake[] = [];
  for (const [index, { file, inputs, outputs }] of files.entries()) {
    const place = [...at, "model", index];
    let takes = 0;
    for (const tensor of inputs) {
      const from = given.get(tensor.name);
      const known = from ?? outside.get(tensor.name);
      if (from !== undefined) {
        takes++;
        used.add(from.index);
      }
      if (known === undefined) outside.set(tensor.name, { file, tensor });
      else if (!fits(known.tensor, tensor)) {
        const verb = from === undefined ? "takes" : "returns";
        const message =
          `input ${show(tensor.name)} of ${file} is ${shapeText(tensor)}, but ${known.file} ` +
          `${verb} ` +
          shapeText(known.tensor);
        mistakes.push(conflict(place, message));
      }
    }
    if (index > 0 && takes === 0) mistakes.push(conflict(place, takesNothing(file, inputs, given)));
    for (const tensor of outputs) given.set(tensor.name, { file, tensor, index });
  }
  const idle = files.findIndex((_, index) => index < files.length - 1 && !used.has(index));
  // A file without connected inputs is already reported.
  if (idle >= 0 && mistakes.length === 0) {
    mistakes.push(conflict([...at, "model", idle], givesNothing(files, idle)));
  }
  const open = [...outside.values()].find(({ tensor }) => !isRowsFirst(tensor));
  if (open !== undefined && mistakes.length === 0) {
    const message =
      `input ${show(open.tensor.name)} of ${open.file} is ${shapeText(open.tensor)}; with ` +
      `several files ` +
      "inputs must have rows on axis 0 and fixed sizes on the other axes";
    mistakes.push(conflict([...at, "model"], message));
  }
  return { inputs: [...outside.values()].map(({ tensor }) => tensor), mistakes };
}

/** Returns whether a tensor can be used as another: equal types and compatible sizes. */
function fits(one: TensorInfo, other: TensorInfo): boolean {
  if (one.dtype !== other.dtype) return false;
  // A tensor without dimensions in the file has unknown ones.
  if (one.shape.length === 0 || other.shape.length === 0) return true;
  if (one.shape.length !== other.shape.length) return false;
  return one.shape.every((size, axis) => {
    const wanted = other.shape[axis];
    return size === wanted || size === -1 || wanted === -1;
  });
}

function takesNothing(
  file: string,
  inputs: readonly TensorInfo[],
  given: ReadonlyMap<string, Value>,
): string {
  const wanted = inputs.map(named).join(", ");
  const there = [...given.values()].map(({ file: from, tensor }) => `${named(tensor)} of ${from}`);
  return (
    `${file} takes ${wanted}, but no earlier file returns them; available are ` +
    `${there.join(", ")}`
  );
}

function givesNothing(files: readonly ModelPart[], index: number): string {
  const own = (files[index]?.outputs ?? []).map(named).join(", ");
  const wanted = files.slice(index + 1).flatMap(({ file, inputs }) => {
    return inputs.map((tensor) => `${named(tensor)} of ${file}`);
  });
  const { file = "" } = files[index] ?? {};
  const found = `${file} returns ${own}, but no later file takes any of them`;
  return `${found}; they take ${wanted.join(", ")}`;
}

function isRowsFirst({ shape }: TensorInfo): boolean {
  return shape.length > 0 && !shape.slice(1).includes(-1);
}

function named(tensor: TensorInfo): string {
  return `${show(tensor.name)} ${shapeText(tensor)}`;
}

function shapeText({ dtype, shape }: TensorInfo): string {
  return `${dtype}[${shape.map((size) => (size === -1 ? "?" : size)).join(", ")}]`;
}

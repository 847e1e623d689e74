/** Which models answer the same requests, so that they are variants of one task. */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";

/** A model as the first of its task has it: its own names by those of the first. */
export interface Renamed {
  readonly inputs: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/**
 * How a model answers the requests of another: by the same tensors, or where each has as many, of
 * the same types and sizes in the same order, by others of other names.
 * @returns null if it does not.
 */
export function renamedAs(model: ModelFile, first: ModelFile): Renamed | null {
  const inputs = namesFor(model.inputs, first.inputs, isSameInput);
  const outputs = namesFor(model.outputs, first.outputs, isSameKind);
  return inputs === null || outputs === null ? null : { inputs, outputs };
}

function namesFor(
  own: readonly TensorInfo[],
  first: readonly TensorInfo[],
  isAlike: (a: TensorInfo, b: TensorInfo) => boolean,
): Record<string, string> | null {
  if (own.length !== first.length) return null;
  const byName = first.map((tensor) => own.find(({ name }) => name === tensor.name));
  const hasAll = byName.every((tensor, index) => {
    const other = first[index];
    return tensor !== undefined && other !== undefined && isAlike(tensor, other);
  });
  if (hasAll) return {};
  const inOrder = own.every((tensor, index) => {
    const other = first[index];
    return other !== undefined && isAlike(tensor, other);
  });
  if (!inOrder) return null;
  return Object.fromEntries(first.map(({ name }, index) => [name, own[index]?.name ?? name]));
}

function isSameInput(a: TensorInfo, b: TensorInfo): boolean {
  return isSameKind(a, b) && a.shape.slice(1).join() === b.shape.slice(1).join();
}

function isSameKind(a: TensorInfo, b: TensorInfo): boolean {
  return a.dtype === b.dtype && a.shape.length === b.shape.length;
}

/** `x float32[-1, 7]`, one after another. */
export function tensorsText(tensors: readonly TensorInfo[]): string {
  return tensors
    .map(({ name, dtype, shape }) => `${name} ${dtype}[${shape.join(", ")}]`)
    .join(", ");
}

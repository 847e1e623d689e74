/** Checks whether models answer the same requests, so that they are variants of one task. */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";

/** Names of a model's tensors, by the names in the first model of its task. */
export interface Renamed {
  readonly inputs: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/**
 * Maps the tensors of a model to those of another: by name, or by order if number, types and sizes
 * are equal.
 * @returns null if they do not match.
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

/** Formats tensors: `x float32[-1, 7]`. */
export function tensorsText(tensors: readonly TensorInfo[]): string {
  return tensors
    .map(({ name, dtype, shape }) => `${name} ${dtype}[${shape.join(", ")}]`)
    .join(", ");
}

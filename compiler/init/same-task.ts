/** Checks whether models answer the same requests, so that they are variants of one task. */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { imageHeightAxis } from "stratagem-runtime/internal/exec/adapter/resized";

type Tensors = Pick<ModelFile, "inputs" | "outputs">;

/** Names of a model's tensors, by the names in the first model of its task. */
export interface Renamed {
  readonly inputs: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
  /** Height and width of the first model's images, where this one has another size. */
  readonly resize: Readonly<Record<string, readonly number[]>>;
}

/**
 * Maps the tensors of a model to those of another: by name, or by order if number, types and sizes
 * are equal. Images may have other sizes if the outputs have not.
 * @returns null if they do not match.
 */
export function renamedAs(model: Tensors, first: Tensors): Renamed | null {
  const same = namesFor(model.inputs, first.inputs, isSameInput);
  const inputs = same ?? namesFor(model.inputs, first.inputs, isResized);
  const outputs = namesFor(model.outputs, first.outputs, same === null ? isSameInput : isSameKind);
  if (inputs === null || outputs === null) return null;
  const resize = first.inputs.flatMap((input) => {
    const own = model.inputs.find(({ name }) => name === (inputs[input.name] ?? input.name));
    const size = imageSizeOf(input);
    const isOther = own !== undefined && size !== null && !isSameInput(own, input);
    return isOther ? [[input.name, size] as const] : [];
  });
  return { inputs, outputs, resize: Object.fromEntries(resize) };
}

/** Returns height and width of an input's images; null if it is no image of one size. */
export function imageSizeOf({ shape }: TensorInfo): [height: number, width: number] | null {
  const axis = imageHeightAxis(shape.slice(1));
  if (axis === null) return null;
  const [height = -1, width = -1] = shape.slice(1 + axis);
  return height > 0 && width > 0 ? [height, width] : null;
}

/** Whether two inputs are equal, or images that differ in height and width only. */
export function isResized(a: TensorInfo, b: TensorInfo): boolean {
  if (isSameInput(a, b)) return true;
  const rows = [a, b].map(({ shape }) => shape.slice(1));
  const [axis, other] = rows.map(imageHeightAxis);
  if (!isSameKind(a, b) || axis === null || axis !== other) return false;
  if (imageSizeOf(a) === null || imageSizeOf(b) === null) return false;
  return rows.map((row) => row[axis === 0 ? 2 : 0]).every((size, _, [first]) => size === first);
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

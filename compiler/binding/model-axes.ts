/** Determines the axes of a model's inputs: the batch, one size, or one of several. */

import { suggestion } from "stratagem-runtime/internal/base/nearest";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import type { AxisUse, Binding } from "../spec/binding.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { conflict, type Mistake, show } from "../spec/document/mistakes.ts";

export interface InputAxes {
  readonly info: TensorInfo;
  /** Null if no axis is the batch. */
  readonly batchAxis: number | null;
  /** Sizes of each axis with several, by its position. */
  readonly sizes: ReadonlyMap<number, { readonly key: string; readonly sizes: readonly number[] }>;
  /** Shape with the stated sizes; −1 for the batch and for axes with several sizes. */
  readonly shape: readonly number[];
}

/** Axes of a model's inputs, and mistakes in the spec's use of them. */
interface ModelAxes {
  readonly inputs: readonly InputAxes[];
  readonly mistakes: readonly Mistake[];
}

/** Constant inputs have no rows and one size. */
export function axesOf(
  { model, axisNames }: DescribedModel,
  { axes, constants }: Pick<Binding, "axes" | "constants">,
  path: KeyPath,
): ModelAxes {
  const mistakes: Mistake[] = [];
  const used = new Set<string>();
  const inputs = model.inputs.map((info): InputAxes => {
    const names = axisNames[info.name] ?? [];
    const stated = info.shape.map((_, axis) => statedUse(info.name, axis, names[axis], axes));
    for (const each of stated) if (each !== null) used.add(each.key);
    const isConstant = constants[info.name] !== undefined;
    const batchAxis = isConstant ? null : batchAxisOf(info, stated);
    const sizes = new Map<number, { key: string; sizes: readonly number[] }>();
    const shape = info.shape.map((size, axis) => {
      if (axis === batchAxis) return -1;
      const use = stated[axis] ?? null;
      if (use === null) {
        if (size > 0) return size;
        if (isConstant) return 1;
        mistakes.push(openAxis(info, axis, names[axis] ?? "", path));
        return -1;
      }
      const mistake = useMistake(info, axis, use, path);
      if (mistake !== null) mistakes.push(mistake);
      if (typeof use.use === "number") return use.use;
      if (use.use === "batch") return -1;
      const [only] = use.use;
      if (use.use.length === 1 && only !== undefined) return only;
      sizes.set(axis, { key: use.key, sizes: use.use });
      return -1;
    });
    return { info, batchAxis, sizes, shape };
  });
  for (const key of Object.keys(axes)) {
    if (!used.has(key)) mistakes.push(unknownAxis(key, { model, axisNames }, path));
  }
  return { inputs, mistakes };
}

interface StatedUse {
  /** Key of the axis in the spec. */
  readonly key: string;
  readonly use: AxisUse;
}

function statedUse(
  tensor: string,
  axis: number,
  name: string | undefined,
  axes: Binding["axes"],
): StatedUse | null {
  for (const key of [`${tensor}.${axis}`, name ?? ""]) {
    const use = key === "" || !Object.hasOwn(axes, key) ? undefined : axes[key];
    if (use !== undefined) return { key, use };
  }
  return null;
}

/** Returns the stated batch axis; otherwise the first axis if it is open or has one row. */
function batchAxisOf({ shape }: TensorInfo, stated: readonly (StatedUse | null)[]): number | null {
  const said = stated.findIndex((each) => each?.use === "batch");
  if (said >= 0) return said;
  const isRows = stated[0] === null && (shape[0] === -1 || shape[0] === 1);
  return isRows ? 0 : null;
}

function useMistake(
  { name, shape }: TensorInfo,
  axis: number,
  { key, use }: StatedUse,
  path: KeyPath,
): Mistake | null {
  const size = shape[axis] ?? -1;
  const at = [...path, "axes", key];
  if (use === "batch") {
    const message = `input ${show(name)} has two batch axes; expected one`;
    return conflict(at, message);
  }
  if (size === -1 || use === size) return null;
  const found = typeof use === "number" ? String(use) : `[${use.join(", ")}]`;
  return conflict(at, `axis ${axis} of input ${show(name)} is ${size} in the file, got ${found}`);
}

function openAxis(info: TensorInfo, axis: number, name: string, path: KeyPath): Mistake {
  const { name: tensor, dtype, shape } = info;
  const key = name === "" ? `${tensor}.${axis}` : name;
  const where = `axis ${axis} of input ${show(tensor)} ${dtype}[${shape.join(", ")}] is open`;
  const message =
    `${where}: state its use, such as axes: { ${JSON.stringify(key)}: 320 }, ` +
    "or a list of sizes such as [160, 320], or batch for the rows";
  return conflict([...path, "axes"], message);
}

function unknownAxis(key: string, { model, axisNames }: DescribedModel, path: KeyPath): Mistake {
  const known = model.inputs.flatMap(({ name, shape }) =>
    shape.flatMap((_, axis) => {
      const named = axisNames[name]?.[axis] ?? "";
      return named === "" ? [`${name}.${axis}`] : [named, `${name}.${axis}`];
    }),
  );
  const open = model.inputs.flatMap(({ name, shape }) =>
    shape.flatMap((size, axis) =>
      size === -1 ? [axisNames[name]?.[axis] || `${name}.${axis}`] : [],
    ),
  );
  const which =
    open.length === 0 ? "it has no open axis" : `open are ${[...new Set(open)].join(", ")}`;
  const message = `no input of ${model.file} has an axis ${show(key)}${suggestion(key, known)}`;
  return conflict(
    [...path, "axes", key],
    `${message}${message.endsWith("?") ? " " : "; "}${which}`,
  );
}

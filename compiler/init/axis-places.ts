/** Describes axes of models for users who did not export them. */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";

/** Returns the key of an axis in a spec: its name, or its position if it has no usable name. */
export function axisKey(
  { axisNames }: Pick<DescribedModel, "axisNames">,
  tensor: string,
  axis: number,
): string {
  const name = axisNames[tensor]?.[axis] ?? "";
  return name === "" || /\p{Cc}/u.test(name) ? `${tensor}.${axis}` : name;
}

/** Returns all valid axis keys for a model's inputs. */
export function axisKeys({ model, axisNames }: DescribedModel): string[] {
  return model.inputs.flatMap(({ name, shape }) =>
    shape.flatMap((_, axis) => [axisKey({ axisNames }, name, axis), `${name}.${axis}`]),
  );
}

/** Formats `axis 2 of x, height?`; for an axis of several inputs, every position. */
export function axisPlace({ model, axisNames }: DescribedModel, key: string): string {
  const places = model.inputs.flatMap((info) =>
    info.shape.flatMap((_, axis) => {
      const isIt = axisNames[info.name]?.[axis] === key || `${info.name}.${axis}` === key;
      return isIt ? [{ info, axis }] : [];
    }),
  );
  const [first] = places;
  const guess = first === undefined ? "" : meaningOf(first.info, first.axis);
  const where = places.map(({ info, axis }) => `axis ${axis} of ${info.name}`).join(", ");
  return guess === "" ? where : `${where}, ${guess}?`;
}

/** Formats tensors: `x float32[batch, 3, ?]`. */
export function describedTensors(
  tensors: ModelFile["inputs"],
  axisNames: DescribedModel["axisNames"],
): string {
  return tensors
    .map(({ name, dtype, shape }) => {
      const sizes = shape.map((size, axis) => (size > 0 ? size : axisNames[name]?.[axis] || "?"));
      return `${name} ${dtype}[${sizes.join(", ")}]`;
    })
    .join(", ");
}

function meaningOf({ dtype, shape }: TensorInfo, axis: number): string {
  if (axis === 0) return "";
  if (shape.length === 4) {
    const isLast = [1, 3, 4].includes(shape[3] ?? 0) && ![1, 3, 4].includes(shape[1] ?? 0);
    return (isLast ? ["", "height", "width", "channels"] : ["", "channels", "height", "width"])[
      axis
    ] as string;
  }
  if (dtype.startsWith("int")) return "tokens";
  return shape.length === 2 ? "samples or features" : "";
}

/** Where an axis is that a spec names, and what it may be: for who has not exported the model. */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";

/** What a spec calls an axis: its name, or where it is if it has none that a spec can hold. */
export function axisKey(
  { axisNames }: Pick<DescribedModel, "axisNames">,
  tensor: string,
  axis: number,
): string {
  const name = axisNames[tensor]?.[axis] ?? "";
  return name === "" || /\p{Cc}/u.test(name) ? `${tensor}.${axis}` : name;
}

/** All that a spec may call the axes of a model's inputs. */
export function axisKeys({ model, axisNames }: DescribedModel): string[] {
  return model.inputs.flatMap(({ name, shape }) =>
    shape.flatMap((_, axis) => [axisKey({ axisNames }, name, axis), `${name}.${axis}`]),
  );
}

/** `axis 2 of x, height?`; of one that several inputs have, each. */
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

/** Tensors of a file as people read them: `x float32[batch, 3, ?]`. */
export function tensorsTold(
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

/** What a bundle must say of a model of several files for a worker to run them in a row. */
import { refuse } from "./refuse.ts";
import type { ModelFile, ModelPart, TensorInfo } from "./schema.ts";

/** @throws BundleError at the first contradiction. */
export function checkParts(model: ModelFile, parts: readonly ModelPart[], path: string): void {
  for (const other of ["adapter", "buckets", "module", "remote"] as const) {
    if (model[other] !== undefined) refuse(path, parts.length, `none beside \`${other}\``);
  }
  for (const [index, { inputs, outputs }] of parts.entries()) {
    for (const [side, tensors] of Object.entries({ inputs, outputs })) {
      const again = tensors.findIndex(
        ({ name }, at) => tensors.findIndex((o) => o.name === name) < at,
      );
      if (again < 0) continue;
      refuse(`${path}[${index}].${side}[${again}].name`, tensors[again]?.name, "a name of its own");
    }
  }
  const [found, expected] = [told(parts.at(-1)?.outputs ?? []), told(model.outputs)];
  if (found === expected) return;
  refuse(`${path}[${parts.length - 1}].outputs`, found, `${expected}, as the model's`);
}

function told(tensors: readonly TensorInfo[]): string {
  return tensors.map(({ name, dtype, shape }) => `${name} ${dtype}[${shape}]`).join(", ");
}

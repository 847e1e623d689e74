/** Checks the state of a model against its tensors: a pair is one tensor that goes in and out. */
import type { ModelFile, StatePair, TensorInfo } from "./schema.ts";
import { refuse } from "./table-semantics.ts";

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkState(
  { inputs, outputs }: ModelFile,
  state: readonly StatePair[],
  path: string,
): void {
  const takenInputs = new Set<string>();
  const takenOutputs = new Set<string>();
  for (const [index, pair] of state.entries()) {
    const at = `${path}[${index}]`;
    const input = tensorNamed(pair.input, inputs, takenInputs, `${at}.input`);
    const output = tensorNamed(pair.output, outputs, takenOutputs, `${at}.output`);
    const [taken, given] = [textOf(input), textOf(output)];
    if (input.shape.length === 0) refuse(`${at}.input`, taken, "a tensor whose axis 0 is the rows");
    if (input.shape.slice(1).includes(-1)) refuse(`${at}.input`, taken, "only axis 0 open");
    if (taken !== given) refuse(`${at}.output`, given, `${taken}, as input "${pair.input}" is`);
  }
  // The other inputs define the rows, and the other outputs are the answer.
  if (takenInputs.size === inputs.length) refuse(path, "every input", "one that clients send");
  if (takenOutputs.size === outputs.length) refuse(path, "every output", "one that clients get");
}

function tensorNamed(
  name: string,
  tensors: readonly TensorInfo[],
  taken: Set<string>,
  path: string,
): TensorInfo {
  const tensor = tensors.find((one) => one.name === name);
  const names = tensors.map((one) => `"${one.name}"`).join(" or ");
  if (tensor === undefined) return refuse(path, name, names);
  if (taken.has(name)) return refuse(path, name, "each tensor once");
  taken.add(name);
  return tensor;
}

/** Describes the rows of a tensor; axis 0 may be stated in several ways. */
function textOf({ dtype, shape }: TensorInfo): string {
  return `${dtype} [${["rows", ...shape.slice(1)].join(", ")}]`;
}

/** A model as an agent has it: its file or module, and its tensors as clients see them. */
import type { TensorInfo } from "../bundle/schema.ts";
import type { VariantModel } from "../exec/models/executor.ts";
import type { ClientSignature, ModelTensor } from "../server/tensors/signature.ts";
import { datatypeOf } from "../server/tensors/tensors.ts";

export interface AgentModel {
  /** Name that clients use. */
  readonly name: string;
  readonly variant: VariantModel;
  /** Digest of its file; null for a remote model. */
  readonly sha256: string | null;
  readonly signature: ClientSignature;
}

/** A model is unavailable; the message follows its name. */
export class NoModelError extends Error {
  override readonly name = "NoModelError";
}

/** @throws NoModelError for a tensor that the protocol cannot carry. */
export function agentModel(name: string, variant: VariantModel, sha256: string | null): AgentModel {
  const inputs = variant.inputs.map(tensorOf);
  const outputs = variant.outputs.map(tensorOf);
  const signature = { names: [name], inputs, outputs, variants: [{ name }], outputsAreRows: false };
  return { name, variant, sha256, signature };
}

function tensorOf({ name, dtype, shape }: TensorInfo): ModelTensor {
  const datatype = datatypeOf(dtype);
  if (datatype !== undefined) return { name, datatype, rowShape: shape.slice(1) };
  const expected = "expected a type of the Open Inference Protocol";
  throw new NoModelError(`tensor "${name}": ${expected}, got ${dtype}`);
}

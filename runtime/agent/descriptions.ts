/**
 * Metadata of an agent and its models in the formats of the Open Inference Protocol and of Triton.
 */
import type { VariantModel } from "../exec/models/executor.ts";
import type { ModelTensor } from "../server/tensors/signature.ts";
import { DATATYPES } from "../server/tensors/tensors.ts";
import type { AgentModel } from "./agent-model.ts";
import type { AgentState } from "./agent-state.ts";

const EXTENSIONS = [
  "model_repository",
  "binary_tensor_data",
  "model_configuration",
  "statistics",
  "stratagem_worker",
];

/** Workers without peers leave tensors to the front end. */
export function serverMetadata({ version, peers }: AgentState): object {
  const extensions = peers === null ? EXTENSIONS : [...EXTENSIONS, "stratagem_values"];
  return { name: "stratagem-worker", version, extensions };
}

export function modelMetadata({ name, variant, signature, sha256 }: AgentModel): object {
  const described = (tensors: readonly ModelTensor[], infos: VariantModel["inputs"]) =>
    tensors.map((tensor, index) => ({
      name: tensor.name,
      datatype: tensor.datatype,
      shape: infos[index]?.shape ?? [],
    }));
  return {
    name,
    versions: ["1"],
    platform: platformOf(variant),
    inputs: described(signature.inputs, variant.inputs),
    outputs: described(signature.outputs, variant.outputs),
    ...(sha256 === null ? {} : { parameters: { sha256 } }),
  };
}

/**
 * Triton's model configuration: shapes are whole and no batching is stated, because a request is
 * one batch and runs as it is.
 */
export function modelConfig({ name, variant, signature }: AgentModel): object {
  const described = (tensors: readonly ModelTensor[], infos: VariantModel["inputs"]) =>
    tensors.map((tensor, index) => ({
      name: tensor.name,
      data_type: DATATYPES[tensor.datatype].configType,
      dims: infos[index]?.shape ?? [],
    }));
  return {
    name,
    platform: platformOf(variant),
    backend: variant.module === undefined ? "onnxruntime" : "module",
    version_policy: { latest: { num_versions: 1 } },
    max_batch_size: 0,
    input: described(signature.inputs, variant.inputs),
    output: described(signature.outputs, variant.outputs),
  };
}

function platformOf({ module, remote }: VariantModel): string {
  if (module !== undefined) return "stratagem_module";
  return remote === undefined ? "onnxruntime_onnx" : "stratagem_remote";
}

/**
 * What the server says of itself and its model, in the words of the Open Inference Protocol and of
 * Triton's extensions.
 */
import type { SloClass } from "../../bundle/schema.ts";
import type { RequestMetrics } from "../requests/request-metrics.ts";
import { DATATYPES } from "../tensors/datatypes.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";

export const SERVER_METADATA = {
  name: "stratagem",
  extensions: ["binary_tensor_data", "model_configuration", "model_repository", "statistics"],
};

export function modelMetadata(name: string, { inputs, outputs }: ClientSignature): object {
  const describe = ({ name, datatype, rowShape }: ModelTensor) => ({
    name,
    datatype,
    shape: [-1, ...rowShape],
  });
  return {
    name,
    versions: ["1"],
    platform: "onnxruntime_onnx",
    inputs: inputs.map(describe),
    outputs: outputs.map(describe),
  };
}

/**
 * Triton's model configuration; its dims leave axis 0 out where there is a maximum batch size.
 * @param classes of requests; left out where all have the same SLO.
 */
export function modelConfig(
  name: string,
  signature: ClientSignature,
  maxRows: number,
  classes?: readonly SloClass[],
): object {
  const describe = ({ name, datatype, rowShape }: ModelTensor) => ({
    name,
    data_type: DATATYPES[datatype].configType,
    dims: rowShape,
  });
  return {
    name,
    platform: "onnxruntime_onnx",
    backend: "onnxruntime",
    version_policy: { latest: { num_versions: 1 } },
    max_batch_size: maxRows,
    input: signature.inputs.map(describe),
    output: signature.outputs.map(describe),
    parameters: {
      variants: { string_value: signature.variants.map((variant) => variant.name).join(",") },
      ...(classes === undefined ? {} : { slo_classes: { string_value: JSON.stringify(classes) } }),
    },
  };
}

export interface NamedMetrics {
  readonly name: string;
  readonly metrics: RequestMetrics;
}

/** @param epochOffsetMs what to add to the server's clock to have milliseconds since 1970. */
export function modelStatistics(models: readonly NamedMetrics[], epochOffsetMs: number): object {
  return { model_stats: models.map((model) => statisticsOf(model, epochOffsetMs)) };
}

function statisticsOf({ name, metrics }: NamedMetrics, epochOffsetMs: number): object {
  const duration = (count: number, ms: number) => ({ count, ns: Math.round(ms * 1e6) });
  const none = duration(0, 0);
  const { successCount, lastRequestMs } = metrics;
  return {
    name,
    version: "1",
    last_inference: lastRequestMs === 0 ? 0 : Math.round(epochOffsetMs + lastRequestMs),
    inference_count: metrics.inferenceCount,
    execution_count: metrics.executionCount,
    inference_stats: {
      success: duration(successCount, metrics.requestMs),
      fail: duration(metrics.failureCount, metrics.failedMs),
      queue: duration(successCount, metrics.queueMs),
      compute_input: none,
      compute_infer: duration(successCount, metrics.inferMs),
      compute_output: none,
      cache_hit: none,
      cache_miss: none,
    },
    batch_stats: [...metrics.countByBatchSize]
      .sort(([a], [b]) => a - b)
      .map(([rows, { count, inferMs }]) => ({
        batch_size: rows,
        compute_input: none,
        compute_infer: duration(count, inferMs),
        compute_output: none,
      })),
    memory_usage: [],
  };
}

/**
 * Metadata of the server and its models, in the Open Inference Protocol and Triton's extensions.
 */
import type { SloClass } from "../../bundle/schema.ts";
import type { RequestMetrics } from "../requests/request-metrics.ts";
import type { SequenceTurns } from "../requests/sequence-turns.ts";
import type { ClientSignature, ModelTensor } from "../tensors/signature.ts";
import { DATATYPES } from "../tensors/tensors.ts";

/** Extensions of Triton that are available for every model. */
const EXTENSIONS = [
  "binary_tensor_data",
  "classification",
  "model_configuration",
  "schedule_policy",
  "statistics",
] as const;

export interface DescribedServer {
  readonly serverName: string;
  readonly version: string;
}

/** @param more extensions that hold of this server. */
export function serverMetadata(
  { serverName, version }: DescribedServer,
  more: readonly string[],
): object {
  return { name: serverName, version, extensions: [...EXTENSIONS, ...more] };
}

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
 * Triton's model configuration. Where outputs have the rows of the inputs there is a maximum batch
 * size, and dims omit axis 0; elsewhere it is 0, and dims are the whole shape.
 * @param classes SLO classes. Default: all requests have the same SLO.
 * @param sequences of a model with state.
 */
export function modelConfig(
  name: string,
  signature: ClientSignature,
  maxRows: number,
  classes?: readonly SloClass[],
  sequences?: SequenceTurns,
): object {
  const isBatched = signature.outputsAreRows !== false;
  const describe = ({ name, datatype, rowShape }: ModelTensor) => ({
    name,
    data_type: DATATYPES[datatype].configType,
    ...(isBatched ? rowDims(rowShape) : { dims: [-1, ...rowShape] }),
  });
  const describeInput = (input: ModelTensor) => ({
    ...describe(input),
    format: isBatched ? imageFormat(input.rowShape) : "FORMAT_NONE",
  });
  return {
    name,
    platform: "onnxruntime_onnx",
    backend: "onnxruntime",
    version_policy: { latest: { num_versions: 1 } },
    max_batch_size: isBatched ? maxRows : 0,
    input: signature.inputs.map(describeInput),
    output: signature.outputs.map(describe),
    ...(sequences === undefined ? {} : { sequence_batching: sequenceBatching(sequences) }),
    ...(isBatched && sequences === undefined ? { dynamic_batching: {} } : {}),
    parameters: {
      variants: { string_value: signature.variants.map((variant) => variant.name).join(",") },
      ...(classes === undefined ? {} : { slo_classes: { string_value: JSON.stringify(classes) } }),
    },
  };
}

/** Triton's configuration for sequences: oldest first, with implicit state. */
function sequenceBatching({ metadata }: SequenceTurns): object {
  return {
    max_sequence_idle_microseconds: Math.round(metadata.sequenceIdleMs * 1000),
    oldest: { max_candidate_sequences: metadata.maxSequences },
    state: metadata.state.map(({ tensor: { name, datatype, rowShape }, outputName }) => ({
      input_name: name,
      output_name: outputName,
      data_type: DATATYPES[datatype].configType,
      dims: rowShape.length > 0 ? rowShape : [1],
    })),
  };
}

/**
 * Format that image clients rely on: three axes, of which the first or the last has one or three
 * channels.
 */
function imageFormat(rowShape: readonly number[]): string {
  if (rowShape.length !== 3) return "FORMAT_NONE";
  const isChannels = (size: number | undefined) => size === 1 || size === 3;
  if (isChannels(rowShape[0])) return "FORMAT_NCHW";
  return isChannels(rowShape[2]) ? "FORMAT_NHWC" : "FORMAT_NONE";
}

/** Triton has no dims without a dimension: a row that is one element has one, reshaped away. */
function rowDims(rowShape: readonly number[]): object {
  return rowShape.length > 0 ? { dims: rowShape } : { dims: [1], reshape: { shape: [] } };
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
      compute_input: duration(successCount, metrics.inputMs),
      compute_infer: duration(successCount, metrics.inferMs),
      compute_output: duration(successCount, metrics.outputMs),
      cache_hit: none,
      cache_miss: none,
    },
    batch_stats: [...metrics.countByBatchSize]
      .sort(([a], [b]) => a - b)
      .map(([rows, { count, inputMs, inferMs, outputMs }]) => ({
        batch_size: rows,
        compute_input: duration(count, inputMs),
        compute_infer: duration(count, inferMs),
        compute_output: duration(count, outputMs),
      })),
    memory_usage: [],
  };
}

/** Encodes a part of a graph as a model. */
import { create, toBinary } from "@bufbuild/protobuf";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { FlowNode, GraphFlow } from "./graph-flow.ts";
import { OnnxModelError } from "./onnx-model-error.ts";
import {
  type GraphProto,
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  type ValueInfoProto,
} from "./onnx-pb.ts";
import { valueInfo } from "./tensor-infos.ts";

/** Size limit of a protobuf message. */
export const MAX_MODEL_BYTES = 2 ** 31 - 1;
/** Before this IR version, initializers are listed among the inputs. */
const FIRST_IR_WITH_OWN_INITIALIZERS = 4n;

interface StageGraph {
  readonly steps: readonly FlowNode[];
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly ValueInfoProto[];
}

/**
 * Encodes steps of a model, the constants that they need, and all parts of the model other than its
 * graph. The same arguments give the same bytes.
 * @throws OnnxModelError if it is larger than a file can be.
 */
export function encodeStage(
  model: ModelProto,
  graph: GraphProto,
  flow: GraphFlow,
  { steps, inputs, outputs }: StageGraph,
): Uint8Array {
  const outputNames = outputs.map(({ name }) => name);
  const read = steps.flatMap(({ reads }) => reads);
  const constants = constantNodes([...read, ...outputNames], flow);
  const nodes = [...constants, ...steps];
  const values = new Set([
    ...nodes.flatMap(({ reads, writes }) => [...reads, ...writes]),
    ...outputNames,
  ]);
  const quantizationAnnotation = graph.quantizationAnnotation.filter(({ tensorName }) =>
    values.has(tensorName),
  );
  // Scales and zero points that only annotations name.
  for (const { quantParameterTensorNames } of quantizationAnnotation) {
    for (const { value } of quantParameterTensorNames) values.add(value);
  }
  const initializer = graph.initializer.filter(({ name }) => values.has(name));
  const held = new Set(initializer.map(({ name }) => name));
  const listed =
    model.irVersion < FIRST_IR_WITH_OWN_INITIALIZERS
      ? graph.input.filter(({ name }) => held.has(name))
      : [];
  const part = Object.assign(create(GraphProtoSchema), graph, {
    node: nodes.map(({ node }) => node),
    initializer,
    sparseInitializer: graph.sparseInitializer.filter((sparse) =>
      values.has(sparse.values?.name ?? ""),
    ),
    input: [...inputs.map(valueInfo), ...listed],
    output: [...outputs],
    // The infos of the whole model may be for another number of instances; onnxruntime infers them
    // again.
    valueInfo: [],
    quantizationAnnotation,
  });
  const stage = Object.assign(create(ModelProtoSchema), model, { graph: part, trainingInfo: [] });
  return encode(stage);
}

function encode(stage: ModelProto): Uint8Array {
  const bytes = toBinary(ModelProtoSchema, stage);
  if (bytes.length <= MAX_MODEL_BYTES) return bytes;
  const found = `a stage takes ${bytes.length} bytes`;
  throw new OnnxModelError(`${found}; allowed: at most ${MAX_MODEL_BYTES}, the limit of a file`);
}

/** Returns the nodes that produce these values, each after those it reads from. */
function constantNodes(names: readonly string[], flow: GraphFlow): FlowNode[] {
  const needed = new Set<FlowNode>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const producer = flow.constantNodes.get(name);
    if (producer === undefined || needed.has(producer)) continue;
    needed.add(producer);
    open.push(...producer.reads);
  }
  return [...new Set(flow.constantNodes.values())].filter((node) => needed.has(node));
}

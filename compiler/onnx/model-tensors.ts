/** Finds the tensors of a parsed model. */
import { bodiesOf } from "./node-values.ts";
import type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  SparseTensorProto,
  TensorProto,
} from "./onnx-pb.ts";

/** Yields every constant of a model, including those in bodies and functions. */
export function* tensorsOf({ graph, functions }: ModelProto): Generator<TensorProto> {
  if (graph !== undefined) yield* graphTensors(graph);
  for (const { node, attributeProto } of functions) {
    yield* nodeTensors(node);
    yield* attributeTensors(attributeProto);
  }
}

function* graphTensors(graph: GraphProto): Generator<TensorProto> {
  yield* graph.initializer;
  for (const sparse of graph.sparseInitializer) yield* partsOf(sparse);
  yield* nodeTensors(graph.node);
}

function* nodeTensors(nodes: readonly NodeProto[]): Generator<TensorProto> {
  for (const node of nodes) {
    yield* attributeTensors(node.attribute);
    for (const body of bodiesOf(node)) yield* graphTensors(body);
  }
}

function* attributeTensors(attributes: readonly AttributeProto[]): Generator<TensorProto> {
  for (const { t, tensors, sparseTensor, sparseTensors } of attributes) {
    if (t !== undefined) yield t;
    yield* tensors;
    if (sparseTensor !== undefined) yield* partsOf(sparseTensor);
    for (const sparse of sparseTensors) yield* partsOf(sparse);
  }
}

function* partsOf({ values, indices }: SparseTensorProto): Generator<TensorProto> {
  if (values !== undefined) yield values;
  if (indices !== undefined) yield indices;
}

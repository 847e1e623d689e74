/**
 * A model as a chain of layers; any run of layers can become its own model. Source: Accordion §3.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { openRegular } from "stratagem-runtime/internal/base/regular-file";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { wholeModel } from "stratagem-runtime/internal/exec/files/whole-model";
import { refuseDynamicControlFlow } from "./control-flow.ts";
import { refuseManyFields } from "./field-count.ts";
import { type FlowNode, flowOf, type GraphFlow } from "./graph-flow.ts";
import { layerStarts, type ValueUse, valueUses } from "./layer-cuts.ts";
import { functionsByKey } from "./node-values.ts";
import { OnnxModelError } from "./onnx-model-error.ts";
import {
  type GraphProto,
  type ModelProto,
  ModelProtoSchema,
  type ValueInfoProto,
} from "./onnx-pb.ts";
import { axisNames, probeValues, type TensorProbe, type ValueTensor } from "./probe-values.ts";
import { encodeStage, MAX_MODEL_BYTES } from "./stage-model.ts";
import { ELEMENT_TYPES, instanceInput, valueInfo } from "./tensor-infos.ts";

/** Operators in the name of a layer. */
const NAMED_OPS = 3;

/** Layers are the parts between adjacent places where the graph can be cut. */
export interface LayeredModel {
  readonly layerCount: number;
  /** Display names: the operators of each layer. */
  readonly layerNames: readonly string[];
  /**
   * Layers `from` to `to` − 1 for one instance. The same arguments give the same bytes.
   * @throws OnnxModelError if the stage is larger than a file can be.
   */
  stage(from: number, to: number): StageBytes;
}

export interface StageBytes {
  readonly bytes: Uint8Array;
  /** Only what its nodes read: inputs of the model, or values of earlier layers. */
  readonly inputs: readonly TensorInfo[];
  /**
   * Values that later layers read, and outputs of the model. Only the latter have dimensions of −1,
   * if a dimension varies with the input.
   */
  readonly outputs: readonly TensorInfo[];
}

/**
 * Reads a model and runs it on random inputs, to find which values can be sent from one stage to
 * the next.
 * @throws OnnxModelError if it is not an ONNX model, or cannot be cut; with the file's name.
 */
export async function openLayeredModel(
  path: string,
  probe: TensorProbe,
  { seed = 0 }: { readonly seed?: number } = {},
): Promise<LayeredModel> {
  try {
    return await layered(await readModel(path), probe, seed);
  } catch (error) {
    if (!(error instanceof OnnxModelError)) throw error;
    throw new OnnxModelError(`${path}: ${error.message}`);
  }
}

interface Uncut {
  readonly model: ModelProto;
  readonly graph: GraphProto;
  readonly flow: GraphFlow;
  /** Keyed by name. */
  readonly inputs: ReadonlyMap<string, TensorInfo>;
  readonly uses: ReadonlyMap<string, ValueUse>;
}

interface Cuttable extends Uncut {
  /** Values that are tensors, by name. */
  readonly tensors: ReadonlyMap<string, ValueTensor>;
}

/**
 * Reads a model without its external data.
 * @throws OnnxModelError if it is not an ONNX model.
 */
export async function readModelProto(path: string): Promise<ModelProto> {
  return decoded(await bytesOf(path));
}

async function readModel(path: string): Promise<ModelProto> {
  // Refuses other files by their names before the model is read whole.
  await readModelProto(path);
  const bytes = await wholeModel(path).catch((error: Error) => {
    throw new OnnxModelError(error.message);
  });
  return decoded(bytes);
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    const { file, size } = await openRegular(path);
    try {
      if (size > MAX_MODEL_BYTES) throw new Error(`it has more than ${MAX_MODEL_BYTES} bytes`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OnnxModelError(`expected a readable file, got: ${reason}`);
  }
}

function decoded(bytes: Uint8Array): ModelProto {
  let model: ModelProto | null = null;
  let reason = "it has no graph";
  try {
    refuseManyFields(bytes);
    model = fromBinary(ModelProtoSchema, bytes);
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  if (model?.graph !== undefined) return model;
  throw new OnnxModelError(`expected an ONNX model, got another file: ${reason}`);
}

async function layered(model: ModelProto, probe: TensorProbe, seed: number): Promise<LayeredModel> {
  const { graph } = model;
  assert(graph !== undefined, "a model has a graph");
  if (graph.node.length === 0) throw new OnnxModelError("expected at least one node, found none");
  const functions = functionsByKey(model.functions);
  const flow = flowOf(graph, functions);
  if (flow.steps.length === 0) {
    throw new OnnxModelError("expected outputs that depend on the inputs, found none");
  }
  const nodes = flow.steps.map(({ node }) => node);
  refuseDynamicControlFlow(nodes, flow.varying, functions);
  const inputs = instanceInputs(graph, flow);
  const uses = valueUses(flow);
  const uncut = { model, graph, flow, inputs, uses };
  const tensors = await probed(uncut, probe, seed);
  const starts = layerStarts(flow.steps.length, uses, (name) => hasFixedShape(tensors.get(name)));
  const whole = { ...uncut, tensors };
  return {
    layerCount: starts.length - 1,
    layerNames: starts
      .slice(1)
      .map((end, layer) => layerName(flow.steps.slice(starts[layer], end))),
    stage: (from, to) => {
      const first = starts[from];
      const end = starts[to];
      if (first === undefined || end === undefined || from >= to) {
        throw new RangeError(`expected layers of 0 to ${starts.length - 1}, got ${from} to ${to}`);
      }
      return stageOf(whole, first, end);
    },
  };
}

/** Inputs that a node or an output needs. */
function instanceInputs(graph: GraphProto, flow: GraphFlow): ReadonlyMap<string, TensorInfo> {
  const read = new Set(flow.steps.flatMap(({ reads }) => reads));
  const needed = flow.inputNames.filter(
    (name) => read.has(name) || flow.outputNames.includes(name),
  );
  const found = graph.input.filter(({ name }) => needed.includes(name));
  return new Map(found.map((input) => [input.name, instanceInput(input)]));
}

/**
 * @throws OnnxModelError if onnxruntime rejects the model, or one of its outputs cannot be sent.
 */
async function probed(
  { model, graph, flow, inputs, uses }: Uncut,
  probe: TensorProbe,
  seed: number,
): Promise<ReadonlyMap<string, ValueTensor>> {
  const { steps, outputNames, dataShaped } = flow;
  const names = [...new Set([...uses.keys(), ...outputNames])];
  const infos = [...inputs.values()];
  const encode = (outputs: readonly ValueInfoProto[]) =>
    encodeStage(model, graph, flow, { steps, inputs: infos, outputs });
  const declared = new Map(graph.output.map((output) => [output.name, output]));
  const rowNames = new Set(
    graph.input
      .filter(({ name }) => inputs.has(name))
      .flatMap((input) => axisNames(input)[0] ?? []),
  );
  const graphToProbe = { inputs: infos, names, declared, rowNames, dataShaped, encode };
  const tensors = await probeValues(graphToProbe, probe, seed).catch((error: unknown) => {
    if (error instanceof OnnxModelError) throw error;
    const words = error instanceof Error ? error.message : String(error);
    throw new OnnxModelError(`onnxruntime rejects it (${opsetsOf(model)}): ${words}`);
  });
  const lost = outputNames.find((name) => !tensors.has(name));
  if (lost === undefined) return tensors;
  const allowed = `allowed: dense tensors of ${[...ELEMENT_TYPES.keys()].join(", ")}`;
  throw new OnnxModelError(`output "${lost}" cannot be sent by a worker; ${allowed}`);
}

function opsetsOf({ opsetImport, irVersion }: ModelProto): string {
  const opsets = opsetImport.map(({ domain, version }) => `${domain || "ai.onnx"} ${version}`);
  return `it imports ${opsets.join(", ") || "no operators"}; IR version ${irVersion}`;
}

/** Encodes steps `first` to `end` − 1. */
function stageOf(whole: Cuttable, first: number, end: number): StageBytes {
  const { model, graph, flow, uses } = whole;
  const steps = flow.steps.slice(first, end);
  const read = new Set(steps.flatMap(({ reads }) => reads));
  const isLast = end === flow.steps.length;
  const outputNames = [...flow.outputNames].filter((name) => {
    const use = uses.get(name);
    // A value that no step produces is an input or a constant, and belongs to the last stage.
    return use === undefined ? isLast : use.from >= first && use.from < end;
  });
  const inputNames = [...whole.inputs.keys()].filter(
    (name) => read.has(name) || outputNames.includes(name),
  );
  for (const [name, { from, lastRead }] of uses) {
    if (from < first && read.has(name)) inputNames.push(name);
    const isInside = from >= first && from < end;
    if (isInside && lastRead >= end && !outputNames.includes(name)) outputNames.push(name);
  }
  const inputs = inputNames.map((name) => tensorInfo(whole, name));
  const outputs = outputNames.map((name) => tensorInfo(whole, name));
  const stage = { steps, inputs, outputs: outputs.map(valueInfo) };
  return { bytes: encodeStage(model, graph, flow, stage), inputs, outputs };
}

function tensorInfo({ inputs, tensors }: Cuttable, name: string): TensorInfo {
  const input = inputs.get(name);
  if (input !== undefined) return input;
  const tensor = tensors.get(name);
  assert(tensor !== undefined, `"${name}" is sent only where it can be`);
  return { name, dtype: tensor.dtype, shape: tensor.shape };
}

function hasFixedShape(tensor: ValueTensor | undefined): boolean {
  return tensor?.shape.every((size) => size >= 0) ?? false;
}

function layerName(steps: readonly FlowNode[]): string {
  const ops = steps.map(({ node }) => node.opType);
  const more = ops.length - NAMED_OPS;
  return ops.slice(0, NAMED_OPS).join("+") + (more > 0 ? `+${more} more` : "");
}

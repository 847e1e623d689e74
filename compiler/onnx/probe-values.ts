/**
 * Finds which values of a graph can be sent from one worker to another, and their types and shapes.
 */
import { create } from "@bufbuild/protobuf";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import type {
  ProbedTensors,
  ProbeInput,
  ProbeOptions,
  ProbeRun,
} from "stratagem-runtime/internal/exec/tensors/probe-tensors";
import { randomInputs } from "./batch-inputs.ts";
import { type ValueInfoProto, ValueInfoProtoSchema } from "./onnx-pb.ts";
import { ELEMENT_TYPES } from "./tensor-infos.ts";

/**
 * Inputs of these types are only random; inputs of other types, such as float16, are also set to 1.
 */
const RANDOM_TYPES: ReadonlySet<string> = new Set(["uint8", "float32", "float64", "string"]);

/**
 * Runs a model: `probeTensors` of runtime/exec, a parameter so that this module does not load
 * onnxruntime.
 */
export type TensorProbe = (
  model: Uint8Array,
  options: ProbeOptions,
) => Promise<readonly ProbedTensors[] | null>;

/** A value of a graph that is a dense tensor of an element type that workers can send. */
export interface ValueTensor {
  readonly dtype: string;
  /** −1 for an axis that varies, or may vary, with the input. */
  readonly shape: readonly number[];
}

interface ProbedGraph {
  readonly inputs: readonly TensorInfo[];
  readonly names: readonly string[];
  /** The graph's declarations of its outputs, by name. */
  readonly declared: ReadonlyMap<string, ValueInfoProto>;
  /**
   * Names of the first dimension of the graph's inputs: an output that has it too has a row for
   * each instance.
   */
  readonly rowNames: ReadonlySet<string>;
  /**
   * Values whose shape counts as fixed only if onnxruntime infers it: equal shapes of some runs
   * prove nothing.
   */
  readonly dataShaped: ReadonlySet<string>;
  /** Encodes the whole model with these outputs. */
  readonly encode: (outputs: readonly ValueInfoProto[]) => Uint8Array;
}

/**
 * Runs a model on different inputs to find the types and shapes of its values. Leaves out values
 * that are not dense tensors of an element type that workers can send, or that change their number
 * of dimensions.
 * @throws Error of the probe if onnxruntime rejects the model.
 */
export async function probeValues(
  graph: ProbedGraph,
  probe: TensorProbe,
  seed: number,
): Promise<ReadonlyMap<string, ValueTensor>> {
  const options = { runs: probeRuns(graph.inputs, seed), dtypes: new Set(ELEMENT_TYPES.keys()) };
  const values = new Map<string, ValueTensor>();
  const open = [graph.names];
  for (let some = open.pop(); some !== undefined; some = open.pop()) {
    // Outputs without a type get the one that onnxruntime infers.
    const outputs = some.map(
      (name) => graph.declared.get(name) ?? create(ValueInfoProtoSchema, { name }),
    );
    const runs = await probe(graph.encode(outputs), options);
    if (runs !== null) {
      for (const name of some) {
        const value = valueTensor(name, runs, fixedAxes(graph, name));
        if (value !== null) values.set(name, value);
      }
    } else if (some.length > 1) {
      // One of them has an element type that makes the whole model fail; bisection finds which.
      const middle = Math.floor(some.length / 2);
      open.push(some.slice(0, middle), some.slice(middle));
    }
  }
  return values;
}

/** Whether a size that no run changes is fixed, per axis. */
type FixedAxes = (axis: number, size: number, inferred: number | undefined) => boolean;

function fixedAxes({ dataShaped, declared, rowNames }: ProbedGraph, name: string): FixedAxes {
  if (!dataShaped.has(name)) return () => true;
  const names = declared.has(name) ? axisNames(declared.get(name)) : [];
  return (axis, size, inferred) =>
    inferred === size || (size === 1 && rowNames.has(names[axis] ?? ""));
}

/** Names of the open dimensions of a tensor, by axis. */
export function axisNames(info: ValueInfoProto | undefined): (string | undefined)[] {
  const tensor = info?.type?.value.case === "tensorType" ? info.type.value.value : undefined;
  return (tensor?.shape?.dim ?? []).map(({ value }) =>
    value.case === "dimParam" && value.value !== "" ? value.value : undefined,
  );
}

function valueTensor(
  name: string,
  runs: readonly ProbedTensors[],
  isFixed: FixedAxes,
): ValueTensor | null {
  assert(runs.length > 1, "at least two runs");
  const tensors = runs.map((run) => run.get(name));
  const [first] = tensors;
  const rank = first?.shape.length;
  if (first === undefined || tensors.some((tensor) => tensor?.shape.length !== rank)) return null;
  const { dtype, inferredShape } = first;
  const shape = first.shape.map((size, axis) => {
    const isSame = tensors.every((tensor) => tensor?.shape[axis] === size);
    return isSame && isFixed(axis, size, inferredShape[axis]) ? size : -1;
  });
  return { dtype, shape };
}

/**
 * Returns two runs with different random numbers; and, because those leave some types at 0 or below
 * 1, one with these at 1, which may be out of the model's index range.
 */
function probeRuns(inputs: readonly TensorInfo[], seed: number): ProbeRun[] {
  const random = (from: number): ProbeInput[] => {
    const file = { file: "", sha256: "", inputs, outputs: [] };
    const bytes = randomInputs(file, 1, from);
    return inputs.map((input, index) => ({
      ...input,
      bytes: new Uint8Array(bytes[index] ?? new Uint8Array()),
    }));
  };
  const runs = [seed, seed + 1].map((from) => ({ inputs: random(from), mayBeRefused: false }));
  if (inputs.every(({ dtype }) => RANDOM_TYPES.has(dtype))) return runs;
  return [...runs, { inputs: random(seed + 2).map(ofOnes), mayBeRefused: true }];
}

function ofOnes(input: ProbeInput): ProbeInput {
  const { dtype, shape, bytes } = input;
  if (RANDOM_TYPES.has(dtype)) return input;
  const elementBytes = bytes.length / shape.reduce((product, size) => product * size, 1);
  // Little-endian; half floats encode 1 as 0x3c00.
  const one = dtype === "float16" ? [0, 0x3c] : [1];
  return { ...input, bytes: bytes.map((_, at) => one[at % elementBytes] ?? 0) };
}

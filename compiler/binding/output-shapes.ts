/** Observes the outputs of a model by running it: the batch axis, and the sizes of the others. */
import type { BucketAxis, ModelFile } from "stratagem-runtime/internal/bundle/schema";
import { bucketCount, bucketSizes, rowShapeIn } from "stratagem-runtime/internal/bundle/schema";
import { numbersOf } from "stratagem-runtime/internal/exec/adapter/numbers";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import type {
  ProbedTensors,
  ProbeInput,
} from "stratagem-runtime/internal/exec/tensors/probe-tensors";
import { SERVED_DTYPES, tensorData } from "stratagem-runtime/internal/exec/tensors/tensor-data";
import type { Binding } from "../spec/binding.ts";
import type { InputAxes } from "./model-axes.ts";

export interface OutputShapes {
  readonly dtype: string;
  /** Null if no axis grows with the rows. */
  readonly batchAxis: number | null;
  /** Shape of one row; −1 for axes that vary. */
  readonly row: readonly number[];
  /** True if it has as many rows as the input, as far as observed. */
  readonly isByRow: boolean;
}

interface Probed {
  /** True if the model accepts several rows at once. */
  readonly takesRows: boolean;
  /** Keys are the model's own names; outputs of unsupported types are left out. */
  readonly outputs: ReadonlyMap<string, OutputShapes>;
  /** Duration of a run of a row, unoptimized and on one thread; NaN without an output. */
  readonly ranMs: number;
}

/** @throws Error with onnxruntime's message if the model refuses one row. */
export async function probeOutputs(
  path: string,
  model: ModelFile,
  inputs: readonly InputAxes[],
  binding: Binding,
  buckets: readonly BucketAxis[],
  reader: Pick<ModelReader, "probeFile">,
): Promise<Probed> {
  const sent = inputs.filter(({ info }) => binding.constants[info.name] === undefined);
  const mayTakeRows = sent.every(({ info, batchAxis }) => {
    return batchAxis !== null && info.shape[batchAxis] === -1;
  });
  const last = bucketCount(buckets) - 1;
  const run = (rows: number, bucket: number) => {
    return feedsOf(inputs, sent, binding.constants, rows, buckets, bucketSizes(buckets, bucket));
  };
  const runs = [
    { inputs: run(1, last), mayBeRefused: false },
    ...(last > 0 ? [{ inputs: run(1, 0), mayBeRefused: false }] : []),
  ];
  const probe = (all: readonly { inputs: ProbeInput[]; mayBeRefused: boolean }[]) => {
    return reader.probeFile(path, { runs: all, dtypes: SERVED_DTYPES });
  };
  const ones = (await probe(runs)) ?? [];
  const [two] = mayTakeRows
    ? ((await probe([{ inputs: run(2, last), mayBeRefused: true }])) ?? [])
    : [];
  const outputs = new Map<string, OutputShapes>();
  for (const { name } of model.outputs) {
    const shapes = shapesOf(name, ones, two);
    if (shapes !== null) outputs.set(name, shapes);
  }
  // A first run is slower, so that one of two rows may have taken less.
  const ranMs = Math.min(
    ...[ones[0], two].flatMap((run) => (run === undefined ? [] : durationOf(run))),
  );
  return { takesRows: two !== undefined, outputs, ranMs };
}

function durationOf(run: ProbedTensors): number[] {
  const [first] = run.values();
  return first === undefined ? [] : [first.ranMs];
}

/** Returns onnxruntime's message if the model refuses one row with these sizes; null if it runs. */
export async function runsOnce(
  path: string,
  inputs: readonly InputAxes[],
  constants: Binding["constants"],
  reader: Pick<ModelReader, "probeFile">,
): Promise<string | null> {
  const sent = inputs.filter(({ info }) => constants[info.name] === undefined);
  const feeds = feedsOf(inputs, sent, constants, 1, [], []);
  try {
    await reader.probeFile(path, {
      runs: [{ inputs: feeds, mayBeRefused: false }],
      dtypes: SERVED_DTYPES,
    });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function shapesOf(
  name: string,
  [largest, smallest]: readonly ProbedTensors[],
  two: ProbedTensors | undefined,
): OutputShapes | null {
  const one = largest?.get(name);
  if (one === undefined) return null;
  const { dtype, shape } = one;
  const twice = two?.get(name)?.shape;
  const batchAxis = grownAxis(shape, twice);
  const other = smallest?.get(name)?.shape ?? shape;
  // An empty axis depends on the values.
  const sizes = shape.map((size, axis) => (size === other[axis] && size > 0 ? size : -1));
  // Zero doubles to zero, so rows only count if there are some.
  const count = batchAxis === null ? 0 : (shape[batchAxis] ?? 0);
  const isByRow = twice === undefined || (count > 0 && twice[batchAxis ?? 0] === 2 * count);
  return { dtype, batchAxis, row: sizes.filter((_, axis) => axis !== batchAxis), isByRow };
}

/**
 * Returns the first axis that is twice as long for two rows; with one row only, or if rows are
 * counted, the first possible axis.
 */
function grownAxis(one: readonly number[], two: readonly number[] | undefined): number | null {
  if (two === undefined) return one[0] === 1 ? 0 : null;
  const grown = one.findIndex((size, axis) => two[axis] === 2 * size && size > 0);
  if (grown >= 0) return grown;
  return one.length > 0 ? 0 : null;
}

function feedsOf(
  inputs: readonly InputAxes[],
  sent: readonly InputAxes[],
  constants: Binding["constants"],
  rows: number,
  buckets: readonly BucketAxis[],
  sizes: readonly number[],
): ProbeInput[] {
  const infos = sent.map(({ info, shape, batchAxis }) => ({
    ...info,
    shape: [-1, ...shape.filter((_, axis) => axis !== batchAxis)],
  }));
  return inputs.map((input) => {
    const { info, batchAxis, shape: own } = input;
    const at = sent.indexOf(input);
    const row = at < 0 ? own : rowShapeIn(infos, at, buckets, sizes);
    const shape = [...row];
    if (batchAxis !== null) shape.splice(batchAxis, 0, rows);
    const count = shape.reduce((product, size) => product * size, 1);
    const bytes = tensorData(info.dtype).zeros(count);
    const constant = constants[info.name];
    if (constant !== undefined) numbersOf(info.dtype, bytes).fill(constant, 0, count);
    return { name: info.name, dtype: info.dtype, shape, bytes };
  });
}

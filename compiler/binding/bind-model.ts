/**
 * Makes of a model file what everybody but its worker sees: tensors whose axis 0 are the rows,
 * under the names and in the sizes that the spec states, and says how the worker gets from one to
 * the other. What a model gives is not trusted to be what its file says: it is run with one row and
 * with two, in its smallest and in its largest size, and what grows with the rows is the axis of
 * the rows.
 */

import { suggestion } from "stratagem-runtime/internal/base/nearest";
import type {
  AdaptedInput,
  AdaptedOutput,
  BucketAxis,
  ModelFile,
  TensorInfo,
} from "stratagem-runtime/internal/bundle/schema";
import { hasNumbers } from "stratagem-runtime/internal/exec/adapter/numbers";
import { formDtype, formShape } from "stratagem-runtime/internal/exec/adapter/output-forms";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import type { Binding, BoundOutput } from "../spec/binding.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { conflict, type Mistake, show } from "../spec/document/mistakes.ts";
import { axesOf, type InputAxes } from "./model-axes.ts";
import { type OutputShapes, probeOutputs } from "./output-shapes.ts";

/** A model as it is used, or what is wrong with how the spec uses it. */
export type Bound =
  | {
      readonly model: ModelFile;
      readonly mistakes?: undefined;
      /** Outputs that were seen not to have a row for each row, by the model's own names. */
      readonly rowless?: readonly string[];
    }
  | { readonly model?: undefined; readonly mistakes: readonly Mistake[] };

const NOTHING: Binding = {
  axes: {},
  padding: 0,
  inputs: {},
  outputs: null,
  constants: {},
  resize: {},
};

/**
 * @param binding undefined where the spec leaves all to the model.
 * @param at where the spec has the variant.
 * @throws Error in the words of onnxruntime if the model refuses to run, once its axes are known.
 */
export async function bindModel(
  path: string,
  described: DescribedModel,
  binding: Binding | undefined,
  at: KeyPath,
  reader: Pick<ModelReader, "probeFile">,
): Promise<Bound> {
  const { model: own, others = [] } = described;
  if (binding === undefined && others.length === 0 && isRowsFirst(own)) return { model: own };
  const said = binding ?? NOTHING;
  const { inputs, mistakes } = axesOf(described, said, at);
  const found = [...mistakes, ...nameMistakes(described.model, said, at)];
  if (found.length > 0) return { mistakes: found };
  const sent = inputs.filter(({ info }) => said.constants[info.name] === undefined);
  const buckets = bucketsOf(sent, said.padding);
  const probed = await probeOutputs(path, described.model, inputs, said, buckets, reader);
  const wanted = wantedOutputs(described.model, said);
  const outputs = wanted.map(([name, output]) => ({
    name,
    output,
    shapes: probed.outputs.get(output.of),
  }));
  const bad = outputs.flatMap(({ name, output, shapes }) => [
    ...outputMistakes(name, output, shapes, at),
  ]);
  if (bad.length > 0) return { mistakes: bad };
  const maxRows = probed.takesRows ? null : 1;
  const model: ModelFile = {
    ...described.model,
    inputs: sent.map((input) => inputInfo(input, said, maxRows)),
    outputs: outputs.flatMap(({ name, output, shapes }) => {
      return shapes === undefined ? [] : [outputInfo(name, output, shapes, maxRows)];
    }),
    adapter: {
      maxRows,
      inputs: adaptedInputs(inputs, sent, said),
      outputs: outputs.map(({ output, shapes }) => adaptedOutput(output, shapes)),
    },
    ...(buckets.length === 0 ? {} : { buckets }),
  };
  const rowless = outputs.flatMap(({ output, shapes }) => {
    return shapes === undefined || shapes.isByRow ? [] : [output.of];
  });
  return { model, rowless };
}

/** Whether its tensors can be taken as they are: rows in front, and no other axis open. */
function isRowsFirst({ inputs }: ModelFile): boolean {
  return inputs.every(({ shape }) => shape.length > 0 && !shape.slice(1).includes(-1));
}

function* nameMistakes(model: ModelFile, binding: Binding, at: KeyPath): Generator<Mistake> {
  const { inputs, outputs, constants, resize } = binding;
  const own = model.inputs.map(({ name }) => name);
  const given = model.outputs.map(({ name }) => name);
  for (const [input, name] of Object.entries(inputs)) {
    if (!own.includes(input)) {
      yield conflict([...at, "inputs", name], wrongInput(model, own, input, name));
    }
  }
  for (const [input, value] of Object.entries(constants)) {
    const info = model.inputs.find((each) => each.name === input);
    const path = [...at, "constants", input];
    if (info === undefined) yield conflict(path, unknown(model, "input", own, input));
    else if (!hasNumbers(info.dtype)) {
      yield conflict(path, `input ${show(input)} is ${info.dtype}, which ${value} is not`);
    }
  }
  for (const [name, output] of Object.entries(outputs ?? {})) {
    if (!given.includes(output.of)) {
      yield conflict([...at, "outputs", name], wrongOutput(model, given, output.of, name));
    }
  }
  const outside = own.map((name) => inputs[name] ?? name);
  const twice = outside.find((name, index) => outside.indexOf(name) !== index);
  if (twice !== undefined) {
    yield conflict(
      [...at, "inputs"],
      `two inputs are named ${show(twice)}; expected different names`,
    );
  }
  for (const name of Object.keys(resize)) {
    const path = [...at, "resize", name];
    const input = model.inputs[outside.indexOf(name)];
    if (input === undefined) yield conflict(path, unknown(model, "input", outside, name));
    else if (input.shape.length < 2 || !hasNumbers(input.dtype)) {
      const found = `${input.dtype}[${input.shape.join(", ")}]`;
      yield conflict(path, `expected an image, whose last axes are height and width, got ${found}`);
    }
  }
}

/** The map says what is outside first; who has it the wrong way round is told so. */
function wrongInput(model: ModelFile, own: string[], input: string, name: string): string {
  if (own.includes(name)) {
    return `${show(name)} is the model's own name: write ${show(input)}: ${show(name)}`;
  }
  return unknown(model, "input", own, input);
}

function wrongOutput(model: ModelFile, given: string[], output: string, name: string): string {
  if (given.includes(name)) {
    return `${show(name)} is the model's own name: write ${show(output)}: ${show(name)}`;
  }
  return unknown(model, "output", given, output);
}

function unknown(model: ModelFile, what: string, known: string[], found: string): string {
  const names = known.map(show).join(", ");
  const message = `${model.file} has no ${what} ${show(found)}${suggestion(found, known)}`;
  return `${message}${message.endsWith("?") ? " Its" : "; its"} ${what}s are ${names}`;
}

/** An axis of several sizes, by the key that the spec has for it: one key is one axis. */
function bucketsOf(inputs: readonly InputAxes[], padding: number): BucketAxis[] {
  const byKey = new Map<
    string,
    { inputs: { input: number; axis: number }[]; sizes: readonly number[] }
  >();
  for (const [input, { sizes, batchAxis }] of inputs.entries()) {
    for (const [position, { key, sizes: allowed }] of sizes) {
      const known = byKey.get(key) ?? { inputs: [], sizes: allowed };
      known.inputs.push({ input, axis: outsideAxis(position, batchAxis) });
      byKey.set(key, known);
    }
  }
  return [...byKey.values()].map((axis) => ({ ...axis, padding }));
}

/** Where an axis is once the rows are in front. */
function outsideAxis(position: number, batchAxis: number | null): number {
  return batchAxis === null || position < batchAxis ? position + 1 : position;
}

function inputInfo(
  { info, shape, batchAxis }: InputAxes,
  { inputs, resize }: Binding,
  maxRows: number | null,
): TensorInfo {
  const name = inputs[info.name] ?? info.name;
  const row = shape.filter((_, axis) => axis !== batchAxis);
  const from = resize[name]?.size;
  const outside = from === undefined ? row : [...row.slice(0, -2), ...from];
  return { name, dtype: info.dtype, shape: [maxRows ?? -1, ...outside] };
}

function adaptedInputs(
  inputs: readonly InputAxes[],
  sent: readonly InputAxes[],
  { inputs: names, constants, resize }: Binding,
): AdaptedInput[] {
  return inputs.map((input) => {
    const { info, shape, batchAxis } = input;
    const from = sent.indexOf(input);
    const resized = resize[names[info.name] ?? info.name];
    return {
      name: info.name,
      dtype: info.dtype,
      shape: [...shape],
      batchAxis,
      from: from < 0 ? null : from,
      constant: constants[info.name] ?? null,
      resize: resized === undefined ? null : { fit: resized.fit, padding: resized.padding },
    };
  });
}

function wantedOutputs(model: ModelFile, { outputs }: Binding): [string, BoundOutput][] {
  if (outputs !== null) return Object.entries(outputs);
  return model.outputs.map(({ name }) => {
    return [name, { of: name, as: "tensor", k: null, labels: null, blank: null }];
  });
}

function* outputMistakes(
  name: string,
  output: BoundOutput,
  shapes: OutputShapes | undefined,
  at: KeyPath,
): Generator<Mistake> {
  const path = [...at, "outputs", name];
  const { of, as, labels } = output;
  if (shapes === undefined) {
    yield conflict(path, `output ${show(of)} is of a type that is not served`);
    return;
  }
  if (as === "tensor") return;
  const { dtype, row } = shapes;
  const told = `${dtype}[${["rows", ...row].join(", ")}]`;
  const isCtc = as === "ctc" || as === "ctc-confidence";
  if (!hasNumbers(dtype) || row.length < (isCtc ? 2 : 1)) {
    const expected = isCtc ? "[rows, steps, classes]" : "[rows, classes]";
    yield conflict(path, `${as} wants numbers ${expected}, output ${show(of)} is ${told}`);
    return;
  }
  const classes = row.at(-1) ?? -1;
  if (labels === null || classes < 0) return;
  const named = labels.length + (isCtc ? 1 : 0);
  if (named === classes) return;
  const found = isCtc ? `${labels.length} labels and the blank` : `${labels.length} labels`;
  const hint =
    isCtc && named === classes - 1 ? "; if a space is the last one, write space: true" : "";
  yield conflict(path, `output ${show(of)} has ${classes} classes, got ${found}${hint}`);
}

function outputInfo(
  name: string,
  output: BoundOutput,
  { dtype, row }: OutputShapes,
  maxRows: number | null,
): TensorInfo {
  const shape = formShape(output, [maxRows ?? -1, ...row]);
  return { name, dtype: formDtype(output.as, dtype), shape: [...shape] };
}

function adaptedOutput(output: BoundOutput, shapes: OutputShapes | undefined): AdaptedOutput {
  const { of, as, k, labels, blank } = output;
  return { name: of, batchAxis: shapes?.batchAxis ?? null, as, k, labels, blank };
}

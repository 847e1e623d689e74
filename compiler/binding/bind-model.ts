/**
 * Binds a model file to its use in a spec: tensors with rows on axis 0, names and sizes of the
 * spec, and the conversions of the worker. Output shapes in the file are not trusted: the model is
 * run with one row and with two, in its smallest and in its largest size, and the axis that grows
 * is the row axis.
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

/** Model as used, or the mistakes in its use. */
export type Bound =
  | {
      readonly model: ModelFile;
      readonly mistakes?: undefined;
      /** Outputs without a row per input row, by the model's own names. */
      readonly rowless?: readonly string[];
      /** Duration of a run of a row, unoptimized and on one thread, if it was run. */
      readonly ranMs?: number;
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
 * @param binding undefined if the spec leaves everything to the model.
 * @param at place of the variant in the spec.
 * @throws Error with onnxruntime's message if the model does not run after its axes are known.
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
  return { model, rowless, ranMs: probed.ranMs };
}

/** Returns whether its tensors need no conversion: rows first, and no other open axis. */
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

/** The keys of the map are external names; detects reversed entries. */
function wrongInput(model: ModelFile, own: string[], input: string, name: string): string {
  if (own.includes(name)) {
    return `${show(name)} is the name in the model: write ${show(input)}: ${show(name)}`;
  }
  return unknown(model, "input", own, input);
}

function wrongOutput(model: ModelFile, given: string[], output: string, name: string): string {
  if (given.includes(name)) {
    return `${show(name)} is the name in the model: write ${show(output)}: ${show(name)}`;
  }
  return unknown(model, "output", given, output);
}

function unknown(model: ModelFile, what: string, known: string[], found: string): string {
  const names = known.map(show).join(", ");
  const message = `${model.file} has no ${what} ${show(found)}${suggestion(found, known)}`;
  return `${message}${message.endsWith("?") ? " Its" : "; its"} ${what}s are ${names}`;
}

/** Axes with several sizes, by key: equal keys are one axis. */
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

/** Position of an axis after the rows are moved to the front. */
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
    yield conflict(path, `output ${show(of)} has a type that cannot be served`);
    return;
  }
  if (as === "tensor") return;
  const { dtype, row } = shapes;
  const shown = `${dtype}[${["rows", ...row].join(", ")}]`;
  const isCtc = as === "ctc" || as === "ctc-confidence";
  if (!hasNumbers(dtype) || row.length < (isCtc ? 2 : 1)) {
    const expected = isCtc ? "[rows, steps, classes]" : "[rows, classes]";
    yield conflict(path, `${as} needs numbers ${expected}, output ${show(of)} is ${shown}`);
    return;
  }
  const classes = row.at(-1) ?? -1;
  if (labels === null || classes < 0) return;
  const named = labels.length + (isCtc ? 1 : 0);
  if (named === classes) return;
  const found = isCtc ? `${labels.length} labels and the blank` : `${labels.length} labels`;
  const hint =
    isCtc && named === classes - 1 ? "; if the last class is a space, write space: true" : "";
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

/** State that models carry from request to request, in specs and in bundles. */
import type { ModelFile, TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { Application, StateTensors, Variant } from "../spec/application.ts";
import type { KeyPath } from "../spec/document/document.ts";
import { conflict, type Mistake, show } from "../spec/document/mistakes.ts";
import { type ModelFiles, modelOf } from "./model-files.ts";

type StateUser = Pick<Variant, "state">;

/**
 * Yields uses of state that a method or a task does not support.
 * @param method name for messages.
 */
export function* stateUseMistakes(
  { tasks }: Application,
  method: { readonly name: string; readonly keepsState: boolean },
): Generator<Mistake> {
  for (const [taskIndex, { name, variants }] of tasks.entries()) {
    for (const [index, { state, model }] of variants.entries()) {
      if (state === undefined) continue;
      const path = ["tasks", taskIndex, "variants", index, "state"];
      if (!method.keepsState) {
        const message = `${method.name} keeps no state between requests; ramsis does`;
        yield { code: "INPUT_UNSUPPORTED", path, message };
      } else if (variants.length > 1) {
        const message =
          `a variant cannot continue from the state of another, and task ${show(name)} has ` +
          `${variants.length}; keep one of them, or make an application for each`;
        yield conflict(path, message);
      } else if (model === null) yield conflict(path, "expected model as well, got none");
    }
  }
}

/** Yields state that names tensors the models do not have. */
export function* stateMistakes({ tasks }: Application, models: ModelFiles): Generator<Mistake> {
  for (const [taskIndex, { variants }] of tasks.entries()) {
    for (const [index, variant] of variants.entries()) {
      const model = modelOf(models, variant);
      if (model === null || variant.state === undefined) continue;
      const path = ["tasks", taskIndex, "variants", index, "state"];
      yield* pairMistakes(model, variant.state, path);
    }
  }
}

/**
 * Returns the model of a variant, with its state under the public names, which all but the worker
 * use.
 */
export function withState(model: ModelFile | null, { state }: StateUser): ModelFile | null {
  if (model === null || state === undefined) return model;
  return {
    ...model,
    state: state.map(({ input, output }) => ({
      input: inputNamed(model, input)?.name ?? input,
      output: outputNamed(model, output)?.name ?? output,
    })),
  };
}

function* pairMistakes(
  model: ModelFile,
  state: readonly StateTensors[],
  path: KeyPath,
): Generator<Mistake> {
  const taken = new Set<string>();
  for (const { input, output } of state) {
    const at = [...path, output];
    const given = outputNamed(model, output);
    const used = inputNamed(model, input);
    const known = { inputs: ownInputs(model), outputs: ownOutputs(model) };
    if (given === undefined) yield conflict(at, unknown(model, "output", known.outputs, output));
    if (used === undefined) yield conflict(at, unknown(model, "input", known.inputs, input));
    if (given === undefined || used === undefined) continue;
    if (taken.has(input)) yield conflict(at, `input ${show(input)} already takes another output`);
    taken.add(input);
    const [gives, takes] = [rowText(given), rowText(used)];
    if (used.shape.slice(1).includes(-1)) {
      yield conflict(at, `input ${show(input)} is ${takes}; expected sizes of all axes but rows`);
    } else if (gives !== takes) {
      const message = `output ${show(output)} is ${gives} and input ${show(input)} ${takes}`;
      yield conflict(at, `${message}; expected the same type and shape`);
    }
  }
  if (state.length === model.inputs.length) {
    yield conflict(path, "expected an input that clients send; all inputs are state");
  }
  if (state.length === model.outputs.length) {
    yield conflict(path, "expected an output that clients receive; all outputs are state");
  }
}

/** Finds an input by the model's own name; undefined if clients do not send it. */
function inputNamed({ inputs, adapter }: ModelFile, own: string): TensorInfo | undefined {
  if (adapter === undefined) return inputs.find(({ name }) => name === own);
  const from = adapter.inputs.find(({ name }) => name === own)?.from ?? null;
  return from === null ? undefined : inputs[from];
}

/** Finds an output by the model's own name; undefined if clients receive it in another form. */
function outputNamed({ outputs, adapter }: ModelFile, own: string): TensorInfo | undefined {
  if (adapter === undefined) return outputs.find(({ name }) => name === own);
  return outputs[adapter.outputs.findIndex(({ name, as }) => name === own && as === "tensor")];
}

function ownInputs({ inputs, adapter }: ModelFile): readonly string[] {
  const sent = adapter?.inputs.filter(({ from }) => from !== null) ?? inputs;
  return sent.map(({ name }) => name);
}

function ownOutputs({ outputs, adapter }: ModelFile): readonly string[] {
  return (adapter?.outputs ?? outputs).map(({ name }) => name);
}

function unknown(model: ModelFile, what: string, known: readonly string[], found: string): string {
  const names = known.map(show).join(", ");
  return `${model.file} has no ${what} ${show(found)}; its ${what}s are ${names}`;
}

function rowText({ dtype, shape }: TensorInfo): string {
  return `${dtype}[${["rows", ...shape.slice(1)].join(", ")}]`;
}

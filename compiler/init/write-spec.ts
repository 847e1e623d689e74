/** Implements `stratagem init`: writes a spec that compiles, for model files and modules. */
import { basename, dirname, resolve } from "node:path";
import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { assert } from "stratagem-runtime/internal/core/assert";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import { writeAtomically } from "../base/atomic-write.ts";
import type { AxisUse } from "../spec/binding.ts";
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { axisKeys, axisPlace, describedTensors } from "./axis-places.ts";
import { defaultTargets, type Targets } from "./default-targets.ts";
import { edgesOf } from "./edges.ts";
import { nextCommands } from "./next-commands.ts";
import { type Ask, askedAccuracy, askedTargets, readAccuracy } from "./questions.ts";
import type { Reader, ReadModel } from "./read-model.ts";
import { fileInSpec } from "./read-module.ts";
import { exists, type InitTask, readTasks } from "./read-tasks.ts";
import { imageSizeOf, type Renamed, renamedAs } from "./same-task.ts";
import { type InitSpec, type InitVariant, specText } from "./spec-text.ts";
import type { SuggestedUse } from "./suggested-use.ts";
import { guessedAccuracies, modelNames } from "./variant-names.ts";

export interface InitOptions {
  /** Paths of models and modules, at least one; `task=path` for a pipeline. */
  readonly models: readonly string[];
  readonly out: string;
  /** Null for a default that the models can keep. */
  readonly slo: string | null;
  readonly loads: readonly number[] | null;
  /** Null for one for each task. */
  readonly workers: number | null;
  /** Keys are variant names. */
  readonly accuracies: ReadonlyMap<string, number>;
  readonly axes: Readonly<Record<string, AxisUse>>;
  /** True to replace an existing file. */
  readonly force: boolean;
}

/**
 * @param ask null without a terminal.
 * @throws InputError for a file that is not a model, models that answer different requests, or an
 * existing spec.
 */
export async function initCommand(
  options: InitOptions,
  reader: Reader,
  ask: Ask | null,
): Promise<CommandResult> {
  const { models, out, force } = options;
  if (!force && (await exists(out))) {
    const message = "already exists; use another file with -o, or --force to replace it";
    throw new InputError("INPUT_CONFLICT", `${out}: ${message}`);
  }
  const tasks = await readTasks(models, { ...options, reader });
  const read = tasks.flatMap((task) => task.models);
  refuseSameFiles(read);
  refuseUnknownAxes(options.axes, read);
  const workers = workersOf(tasks, options.workers);
  const targets = defaultTargets(tasks, { ...options, workers });
  const spec = specOf(tasks, await asked({ ...options, ...targets, workers }, read, ask));
  await writeAtomically(out, Buffer.from(specText(spec)));
  const { steps, python, file } = nextCommands(out, spec, read);
  if (file !== null) await writeAtomically(file.path, Buffer.from(file.bytes));
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${out}: ${contentOf(spec)}`,
      "Next steps, the last one in another terminal:",
      ...steps,
      "From Python, with requests or tritonclient:",
      ...python,
    ].join("\n"),
    json: {
      spec: out,
      application: spec.application,
      variants: spec.tasks.flatMap(({ name: task, variants }) => {
        return variants.map(({ name, file, accuracy, isGuess, use, renamed }) => {
          const known = { task, name, model: file, accuracy, accuracyIsGuess: isGuess };
          return { ...known, ...use, ...renamed };
        });
      }),
      next: steps,
      python,
    },
  };
}

type WholeOptions = Omit<InitOptions, "workers"> & Targets & { readonly workers: number };

/** @throws InputError for fewer workers than tasks: a worker runs the variants of one task. */
function workersOf(tasks: readonly InitTask[], stated: number | null): number {
  if (stated === null || stated >= tasks.length) return stated ?? tasks.length;
  const message = `--workers ${stated}: expected at least ${tasks.length}, one for each task`;
  throw new InputError("INPUT_CONFLICT", message);
}

/** Completes the options with answers of the user. */
async function asked(
  options: WholeOptions,
  models: readonly ReadModel[],
  ask: Ask | null,
): Promise<WholeOptions> {
  if (ask === null) return options;
  const accuracies = new Map(options.accuracies);
  const targets = await askedTargets(ask, options);
  for (const [index, name] of namesOf(models).entries()) {
    const isKnown = accuracies.has(name) || models[index]?.module !== null;
    const accuracy = isKnown ? null : await askedAccuracy(ask, name);
    if (accuracy !== null) accuracies.set(name, accuracy);
  }
  return { ...options, ...targets, accuracies };
}

/** @throws InputError for an axis that no model has. */
function refuseUnknownAxes(axes: InitOptions["axes"], models: readonly ReadModel[]): void {
  const known = [...new Set(models.flatMap(({ described }) => axisKeys(described)))];
  for (const key of Object.keys(axes)) {
    if (known.includes(key)) continue;
    const message = `--axes ${show(key)}: no input has this axis${suggestion(key, known)}`;
    throw new InputError("INPUT_CONFLICT", message);
  }
}

/** Refuses equal file names, since a server has its models in one folder. @throws InputError */
function refuseSameFiles(models: readonly ReadModel[]): void {
  for (const [index, { path, model }] of models.entries()) {
    const same = models
      .slice(0, index)
      .find(
        (other) => basename(other.path) === basename(path) && other.model.sha256 !== model.sha256,
      );
    if (same === undefined) continue;
    const expected = "expected models with different file names";
    const hint = "a server has its models in one folder; rename one";
    throw new InputError("INPUT_CONFLICT", `${same.path}, ${path}: ${expected}; ${hint}`);
  }
}

function contentOf({ tasks }: InitSpec): string {
  const [{ name = "", variants = [] } = {}, ...others] = tasks;
  if (others.length === 0) {
    const { length } = variants;
    return `${length === 1 ? "one variant" : `${length} variants`} of the task ${name}`;
  }
  const names = tasks.map((task) => {
    const { length } = task.variants;
    return length === 1 ? task.name : `${task.name} (${length} variants)`;
  });
  return `a pipeline of ${names.join(", ")}`;
}

function namesOf(models: readonly ReadModel[]): string[] {
  return modelNames(models.map(({ path }) => path));
}

function specOf(tasks: readonly InitTask[], options: WholeOptions): InitSpec {
  const { out, slo, loads, workers, accuracies } = options;
  const all = namesOf(tasks.flatMap(({ models }) => models));
  for (const name of accuracies.keys()) {
    if (all.includes(name)) continue;
    const message = `--accuracy ${name}=…: unknown variant; variants are ${all.join(", ")}`;
    throw new InputError("INPUT_CONFLICT", message);
  }
  const specTasks = tasks.map((task, index) => {
    const names = all.splice(0, task.models.length);
    const variants = variantsOf(task, names, options).map((variant, at) => {
      const use = withoutUnnamed(task.models[at], index, tasks[index + 1]) ?? variant.use;
      return { ...variant, use };
    });
    return { name: task.name, variants };
  });
  const application = tasks.map(({ name }) => name).join("-");
  const profile = `${basename(out).replace(/\.[^.]*$/, "")}-profile.json`;
  return { application, slo, loads, workers, profile, tasks: specTasks, edges: edgesOf(tasks) };
}

/**
 * Leaves outputs out whose rows a server cannot assign: beside counted rows, neither sent on nor
 * with a name of their first axis. Null without such outputs.
 */
function withoutUnnamed(
  model: ReadModel | undefined,
  task: number,
  next: InitTask | undefined,
): SuggestedUse | null {
  if (model === undefined || model.module !== null || next == null || next.count === null) {
    return null;
  }
  const { described, use } = model;
  const sent = next.feeds.filter(({ source }) => source.task === task);
  const kept = model.model.outputs
    .map(({ name }) => name)
    .filter((name) => {
      const isSent =
        name === next.count?.count || sent.some((fed) => fed.source.tensor.name === name);
      return isSent || (described.axisNames[name]?.[0] ?? "") !== "";
    });
  return kept.length === model.model.outputs.length ? null : { ...use, outputs: kept };
}

function variantsOf(
  { models, inputs, outputs }: InitTask,
  names: readonly string[],
  { out, accuracies }: WholeOptions,
): InitVariant[] {
  const guesses = guessedAccuracies(models);
  return models.map((model, index): InitVariant => {
    const { module, path, described, use } = model;
    const renamed = renamedAs(model.model, { inputs, outputs });
    assert(renamed !== null, "variants of a task have the same tensors");
    const name = names[index] ?? "";
    const known = accuracies.get(name) ?? (module === null ? undefined : 1);
    return {
      name,
      file: module?.name ?? fileInSpec(path, dirname(resolve(out))),
      tensors: descriptionOf(described),
      accuracy: known ?? guesses[index] ?? 1,
      isGuess: known === undefined,
      use,
      places: Object.fromEntries(
        Object.keys(use.axes).map((key) => [key, axisPlace(described, key)]),
      ),
      renamed,
      images: module === null ? imagesOf(model, renamed) : {},
      module,
    };
  });
}

/** Returns the sizes of the model's images, by the names of inputs in requests. */
function imagesOf({ model }: ReadModel, { inputs }: Renamed): InitVariant["images"] {
  const outside = new Map(Object.entries(inputs).map(([name, own]) => [own, name]));
  const sizes = model.inputs.flatMap((input) => {
    const size = imageSizeOf(input);
    return size === null ? [] : [[outside.get(input.name) ?? input.name, size] as const];
  });
  return Object.fromEntries(sizes);
}

function descriptionOf({ model, axisNames, others = [] }: DescribedModel): string {
  const given = describedTensors(model.outputs, axisNames);
  const tensors = `takes ${describedTensors(model.inputs, axisNames)}; returns ${given}`;
  if (others.length === 0) return tensors;
  return `${tensors}; left out, not tensors: ${others.join(", ")}`;
}

/** Parses `KEY=VALUE` of `--axes`: batch, a size, or sizes such as 320,640. @throws InputError */
export function parseAxis(text: string): [string, AxisUse] {
  const at = text.lastIndexOf("=");
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  const sizes = value.split(",").map((size) => (/^[1-9]\d{0,8}$/.test(size) ? Number(size) : 0));
  if (at > 0 && value === "batch") return [key, "batch"];
  if (at > 0 && !sizes.includes(0)) return [key, sizes.length === 1 ? (sizes[0] ?? 1) : sizes];
  const message = `--axes ${show(text)}: expected AXIS=batch, AXIS=320 or AXIS=160,320`;
  throw new InputError("INPUT_INVALID_VALUE", message);
}

/** Parses `NAME=0.93` or `NAME=93%` of `--accuracy`. @throws InputError */
export function parseAccuracy(text: string): [string, number] {
  const at = text.lastIndexOf("=");
  const accuracy = readAccuracy(text.slice(at + 1));
  if (at > 0 && accuracy !== undefined) return [text.slice(0, at), accuracy];
  const message = `--accuracy ${show(text)}: expected VARIANT=0.93 or VARIANT=93%`;
  throw new InputError("INPUT_INVALID_VALUE", message);
}

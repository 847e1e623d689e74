/** Implements `stratagem init MODEL.onnx…`: writes a spec that compiles for model files. */
import { stat } from "node:fs/promises";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import { writeAtomically } from "../base/atomic-write.ts";
import type { AxisUse } from "../spec/binding.ts";
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { axisKeys, axisPlace, describedTensors } from "./axis-places.ts";
import { defaultTargets, type Targets } from "./default-targets.ts";
import { nextCommands } from "./next-commands.ts";
import { type Ask, askedAccuracy, askedTargets, readAccuracy } from "./questions.ts";
import { type Reader, type ReadModel, readModel } from "./read-model.ts";
import { renamedAs, tensorsText } from "./same-task.ts";
import { type InitSpec, type InitVariant, specText } from "./spec-text.ts";

export interface InitOptions {
  /** Paths of the models, at least one. */
  readonly models: readonly string[];
  readonly out: string;
  /** Null for a default that the models can keep. */
  readonly slo: string | null;
  readonly loads: readonly number[] | null;
  readonly workers: number;
  /** Keys are variant names. */
  readonly accuracies: ReadonlyMap<string, number>;
  readonly axes: Readonly<Record<string, AxisUse>>;
  /** True to replace an existing file. */
  readonly force: boolean;
}

/** Range of placeholder accuracies: larger models get higher ones. */
const GUESSED_LEAST = 0.8;
const GUESSED_MOST = 0.9;

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
  const read: ReadModel[] = [];
  for (const path of models) read.push(await readModel(path, options.axes, reader));
  refuseSameFiles(read);
  refuseUnknownAxes(options.axes, read);
  const targets = defaultTargets(read, options);
  const spec = specOf(read, await asked({ ...options, ...targets }, read, ask));
  const text = specText(spec);
  await writeAtomically(out, Buffer.from(text));
  const { steps, python } = nextCommands(out, spec, read);
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${out}: ${countOf(read.length)} of the task ${spec.application}`,
      "Next steps, the last one in another terminal:",
      ...steps,
      "From Python, with requests or tritonclient:",
      ...python,
    ].join("\n"),
    json: {
      spec: out,
      application: spec.application,
      variants: spec.variants.map(({ name, file, accuracy, isGuess, use, renamed }) => {
        return { name, model: file, accuracy, accuracyIsGuess: isGuess, ...use, ...renamed };
      }),
      next: steps,
      python,
    },
  };
}

type WholeOptions = InitOptions & Targets;

/** Completes the options with answers of the user. */
async function asked(
  options: WholeOptions,
  models: readonly ReadModel[],
  ask: Ask | null,
): Promise<WholeOptions> {
  if (ask === null) return options;
  const accuracies = new Map(options.accuracies);
  const targets = await askedTargets(ask, options);
  for (const name of namesOf(models)) {
    const accuracy = accuracies.has(name) ? null : await askedAccuracy(ask, name);
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

function countOf(count: number): string {
  return count === 1 ? "one variant" : `${count} variants`;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

function specOf(models: readonly ReadModel[], options: WholeOptions): InitSpec {
  const { out, slo, loads, workers, accuracies } = options;
  const [first] = models;
  if (first === undefined) throw new RangeError("expected a model");
  const names = namesOf(models);
  for (const name of accuracies.keys()) {
    if (names.includes(name)) continue;
    const message = `--accuracy ${name}=…: unknown variant; variants are ${names.join(", ")}`;
    throw new InputError("INPUT_CONFLICT", message);
  }
  const guesses = guessedAccuracies(models);
  const variants = models.map((model, index): InitVariant => {
    const renamed = renamedAs(model.model, first.model);
    if (renamed === null) throw differentTasks(first, model);
    const name = names[index] ?? "";
    const known = accuracies.get(name);
    return {
      name,
      file: relative(dirname(resolve(out)), resolve(model.path)).replaceAll(sep, "/"),
      tensors: descriptionOf(model.described),
      accuracy: known ?? guesses[index] ?? GUESSED_MOST,
      isGuess: known === undefined,
      use: model.use,
      places: Object.fromEntries(
        Object.keys(model.use.axes).map((key) => [key, axisPlace(model.described, key)]),
      ),
      renamed,
    };
  });
  const application = names[0] ?? "application";
  const profile = `${basename(out).replace(/\.[^.]*$/, "")}-profile.json`;
  return { application, slo, loads, workers, profile, variants };
}

function descriptionOf({ model, axisNames, others = [] }: DescribedModel): string {
  const given = describedTensors(model.outputs, axisNames);
  const tensors = `takes ${describedTensors(model.inputs, axisNames)}; returns ${given}`;
  if (others.length === 0) return tensors;
  return `${tensors}; left out, not tensors: ${others.join(", ")}`;
}

function differentTasks(first: ReadModel, other: ReadModel): InputError {
  const tensorsOf = ({ path, model }: ReadModel) => {
    return `${path} takes ${tensorsText(model.inputs)} and returns ${tensorsText(model.outputs)}`;
  };
  const expected = "expected variants of one task, with the same inputs and outputs";
  const found = `${tensorsOf(first)}; ${tensorsOf(other)}`;
  return new InputError("INPUT_CONFLICT", `${expected}: ${found}. Write a spec for each with -o`);
}

/** Returns variant names from file names, without invalid characters; duplicates are numbered. */
function namesOf(models: readonly ReadModel[]): string[] {
  const names: string[] = [];
  for (const { path } of models) {
    const name =
      basename(path)
        .replace(/\.(onnx|ort)$/i, "")
        .replaceAll(/[^\w.-]+/g, "-") || "model";
    let own = name;
    for (let number = 2; names.includes(own); number++) own = `${name}-${number}`;
    names.push(own);
  }
  return names;
}

function guessedAccuracies(models: readonly ReadModel[]): number[] {
  const bySize = models
    .map((_, index) => index)
    .sort((a, b) => {
      return (models[a]?.bytes ?? 0) - (models[b]?.bytes ?? 0) || a - b;
    });
  const step = (GUESSED_MOST - GUESSED_LEAST) / Math.max(1, models.length - 1);
  return models.map(
    (_, index) => GUESSED_MOST - step * (models.length - 1 - bySize.indexOf(index)),
  );
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

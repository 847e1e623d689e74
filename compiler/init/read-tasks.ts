/** Reads the models of a chain of tasks, and finds what each task is fed with. */
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { quoted } from "../base/shell-words.ts";
import type { AxisUse } from "../spec/binding.ts";
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { type ChainTask, countOf, type Fed, feedsOf, sourcesAfter } from "./chain.ts";
import { isPixels, moduleOptions } from "./kit-options.ts";
import { type Reader, type ReadModel, readModel } from "./read-model.ts";
import { isModule, readModule } from "./read-module.ts";
import { isResized, renamedAs, tensorsText } from "./same-task.ts";
import { modelNames } from "./variant-names.ts";

export interface InitTask extends ChainTask {
  readonly name: string;
  /** Variants; the first decides the names of tensors. */
  readonly models: readonly ReadModel[];
}

/** A task whose modules are not open yet. */
interface Part {
  readonly name: string;
  /** Paths are modules. */
  readonly models: readonly (ReadModel | string)[];
}

interface Surroundings {
  readonly out: string;
  readonly axes: Readonly<Record<string, AxisUse>>;
  readonly reader: Reader;
}

/**
 * @param models arguments `path` of one task, or `task=path`: a chain in the order of the tasks.
 * @throws InputError for a file that is not a model, and for tasks that do not fit each other.
 */
export async function readTasks(
  models: readonly string[],
  around: Surroundings,
): Promise<InitTask[]> {
  const groups = await groupsOf(models);
  const parts = await partsOf(groups, around);
  const [part] = parts;
  if (groups.length === 1 && part !== undefined) await refuseTasks(part, around);
  return linkedTasks(parts, around);
}

/** Name and paths of a task. */
type Group = readonly [name: string, paths: readonly string[]];

async function partsOf(groups: readonly Group[], around: Surroundings): Promise<Part[]> {
  const parts: Part[] = [];
  for (const [name, paths] of groups) {
    const isLast = parts.length === groups.length - 1;
    const models: (ReadModel | string)[] = [];
    for (const path of paths) {
      const model = (await isModule(path))
        ? path
        : await readModel(path, around.axes, !isLast, around.reader);
      // Only single tasks keep a state; requests of a pipeline send it.
      const isStateless = typeof model === "string" || groups.length === 1;
      models.push(isStateless ? model : { ...model, use: { ...model.use, state: {} } });
    }
    parts.push({ name, models });
  }
  return parts;
}

/** Groups paths by their tasks, in the order of first mention; plain paths are one task. */
async function groupsOf(models: readonly string[]): Promise<Group[]> {
  const groups = new Map<string, string[]>();
  for (const model of models) {
    const [, task, path] = /^([A-Za-z][\w-]*)=(.+)$/s.exec(model) ?? [];
    const isNamed = task !== undefined && path !== undefined && !(await exists(model));
    const key = isNamed ? task : "";
    groups.set(key, [...(groups.get(key) ?? []), isNamed ? path : model]);
  }
  const [plain] = groups.get("") ?? [];
  if (plain === undefined) return [...groups];
  if (groups.size === 1) return [[modelNames([plain])[0] ?? "", models]];
  const named = [...groups.keys()].filter((name) => name !== "").join(", ");
  const message = `${plain}: expected TASK=${plain}, since other models name their tasks, ${named}`;
  throw new InputError("INPUT_CONFLICT", message);
}

/** Refuses models of different tasks, with the command that makes a pipeline of them. */
async function refuseTasks({ models }: Part, around: Surroundings): Promise<void> {
  const groups: ReadModel[][] = [];
  for (const model of models) {
    if (typeof model === "string") continue;
    const same = groups.find(([first]) => first && renamedAs(model.model, first.model) !== null);
    if (same === undefined) groups.push([model]);
    else same.push(model);
  }
  const [first, other] = groups.flatMap(([model]) => model ?? []);
  if (first === undefined || other === undefined) return;
  const tensorsOf = ({ path, model }: ReadModel) => {
    return `${path} takes ${tensorsText(model.inputs)} and returns ${tensorsText(model.outputs)}`;
  };
  const expected = "expected variants of one task, with the same inputs and outputs";
  const found = `${tensorsOf(first)}; ${tensorsOf(other)}`;
  const chain = await chainOf(groups, around);
  const remedy =
    chain === null
      ? "Write a spec for each with -o, or name the tasks of a pipeline: TASK=PATH"
      : `As a pipeline: npx stratagem init ${chain.join(" ")}`;
  throw new InputError("INPUT_CONFLICT", `${expected}: ${found}. ${remedy}`);
}

/** Most groups whose orders are all tried. */
const MOST_GROUPS = 4;
const CUTTER: Group = ["cut", ["stratagem-kit/crop-rows"]];

/** Arguments of a pipeline of models, if there is one; null otherwise. */
async function chainOf(groups: readonly ReadModel[][], around: Surroundings) {
  if (groups.length > MOST_GROUPS) return null;
  const names = modelNames(groups.flatMap(([first]) => first?.path ?? []));
  const named = groups.map((models, index): Group => {
    const name = names[index]?.replaceAll(/^[^A-Za-z]+|[^\w-]+/g, "") || `task-${index + 1}`;
    return [name, models.map(({ path }) => path)];
  });
  for (const order of ordersOf(named)) {
    const cuts = order.slice(1).map((_, at) => order.toSpliced(at + 1, 0, CUTTER));
    for (const chain of [order, ...cuts]) {
      try {
        await linkedTasks(await partsOf(chain, around), around);
      } catch (error) {
        if (error instanceof InputError) continue;
        throw error;
      }
      return chain.flatMap(([name, paths]) => paths.map((path) => `${name}=${quoted(path)}`));
    }
  }
  return null;
}

function ordersOf<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((first) => {
    return ordersOf(items.filter((item) => item !== first)).map((rest) => [first, ...rest]);
  });
}

async function linkedTasks(parts: readonly Part[], around: Surroundings): Promise<InitTask[]> {
  const tasks: InitTask[] = [];
  for (const [index, { name, models: given }] of parts.entries()) {
    const sources = sourcesAfter(tasks);
    const before = sources.flat().map(({ tensor }) => tensor);
    const images = parts.slice(index + 1).flatMap(({ models: [next] }) => {
      return typeof next === "object" ? next.model.inputs.filter(isPixels) : [];
    });
    const models: ReadModel[] = [];
    for (const model of given) {
      if (typeof model !== "string") models.push(model);
      else {
        const chosen = moduleOptions(model, { before, image: images[0] ?? null });
        models.push(await readModule(model, chosen, dirname(resolve(around.out)), around.reader));
      }
    }
    tasks.push(linked(name, models, tasks));
  }
  return tasks;
}

/** @throws InputError if tasks before do not give what the models take. */
function linked(name: string, models: readonly ReadModel[], before: readonly InitTask[]): InitTask {
  const [first] = models;
  if (first === undefined) throw new RangeError("expected a model");
  const { inputs, outputs } = first.model;
  const task = { name, models, inputs, outputs, counted: first.counted };
  const parent = before.at(-1);
  for (const { path, model, module } of models) {
    const renamed = renamedAs(model, first.model);
    const isAlike = module === null || Object.keys(renamed?.inputs ?? {}).length === 0;
    if (renamed !== null && isAlike) continue;
    const message =
      `task ${show(name)}: expected variants with the same inputs and outputs; ` +
      `${first.path} takes ${tensorsText(inputs)} and returns ${tensorsText(outputs)}; ` +
      `${path} takes ${tensorsText(model.inputs)} and returns ${tensorsText(model.outputs)}`;
    throw new InputError("INPUT_CONFLICT", message);
  }
  if (parent === undefined) return { ...task, feeds: [], count: null };
  const at = before.length - 1;
  const mayResize = models.every(({ module }) => module === null);
  const feeds = feedsOf(inputs, sourcesAfter(before), mayResize);
  const missing = inputs.filter(({ name: input }) => !feeds.some((fed) => fed.input === input));
  const isFed = feeds.some(({ source }) => source.task === at);
  if (missing.length > 0 || !isFed) {
    throw unfed(task, parent, missing.length > 0 ? missing : inputs);
  }
  const count = countOf(parent, feeds, at);
  const many = feeds.find(({ source }) => {
    return source.task === at && parent.counted.includes(source.tensor.name);
  });
  if (many === undefined || count !== null) {
    return { ...task, inputs: inputs.map((input) => asFed(input, feeds)), feeds, count };
  }
  const message =
    `${show(many.source.tensor.name)} of ${show(parent.name)} has a varying number of rows, ` +
    "and no output counts them; expected an output INT64 with one number for each row";
  throw new InputError("INPUT_CONFLICT", message);
}

/** Returns an input with the images that it gets, which may have another size than the model's. */
function asFed(input: TensorInfo, feeds: readonly Fed[]): TensorInfo {
  const fed = feeds.find((one) => one.input === input.name)?.source.tensor;
  return fed !== undefined && isResized(input, fed) ? { ...input, shape: fed.shape } : input;
}

function unfed(
  { name, models }: Pick<InitTask, "name" | "models">,
  parent: InitTask,
  missing: readonly TensorInfo[],
): InputError {
  const message =
    `task ${show(name)} (${models[0]?.path}) takes ${tensorsText(missing)}, but ` +
    `${show(parent.name)}, before it, returns ${tensorsText(parent.outputs)}. Put a task between ` +
    "that makes it, such as nms=stratagem-kit/nms, cut=stratagem-kit/crop-rows or a module of " +
    "yours: docs/models.md";
  return new InputError("INPUT_CONFLICT", message);
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

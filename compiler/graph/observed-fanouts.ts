/**
 * Reads fan-outs that a server observed, from its saved metrics, to replace the specified ones in
 * the next compile. Source: Loki §4.2.
 */
import { dirname, relative, sep } from "node:path";
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import type { Application, Task, Variant } from "../spec/application.ts";
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { decodeUtf8, digest, MEBIBYTE, readBytes } from "../spec/document/source.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import { flatTasks } from "./flat-tasks.ts";

const MAX_BYTES = 16 * MEBIBYTE;
/** Older servers do not write the application label. */
const LINE =
  /^stratagem_fanout\{(model="[^"]*",)?task="([^"]*)",variant="([^"]*)",child="([^"]*)"\} (\S+)$/;

interface Observed {
  readonly line: number;
  readonly task: string;
  readonly variant: string;
  readonly child: string;
  /** Mean queries per query served; NaN before the first query. */
  readonly fanout: number;
}

/**
 * Returns the application with the fan-outs from a server's saved metrics, and with that file among
 * its inputs. Fan-outs that were not observed stay as specified.
 * @param file a saved response to `GET /metrics`.
 * @param app path of the spec.
 * @throws InputError for a file without metrics of this application.
 */
export function withObservedFanouts(
  loaded: LoadedApplication,
  file: string,
  app: string,
): LoadedApplication {
  const content = readBytes(file, MAX_BYTES);
  if (!content.ok) {
    const message = `${file}: expected a readable file, but ${content.reason}`;
    throw new InputError("INPUT_UNREADABLE", message);
  }
  const { application, inputs } = loaded;
  const observed = observedIn(decodeUtf8(content.bytes, file), file, application.name);
  const tasks = tasksWith(application, observed, file);
  const path = relative(dirname(app), file).replaceAll(sep, "/");
  const input = { path, sha256: digest(content.bytes) };
  return {
    ...loaded,
    application: { ...application, tasks },
    inputs: [...inputs, input].sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
}

/** @param model whose lines to read, if lines name a model: a server may have several. */
function observedIn(text: string, file: string, model: string): Observed[] {
  const own = `model="${model}",`;
  const observed = text.split(/\r?\n/).flatMap((content, index): Observed[] => {
    const match = LINE.exec(content);
    if (match === null) return [];
    const [, named = own, task = "", variant = "", child = "", value = ""] = match;
    if (named !== own) return [];
    const fanout = Number(value);
    if (fanout < 0 || fanout === Number.POSITIVE_INFINITY) {
      const message = `${file}:${index + 1}: expected a fan-out of at least 0, got ${value}`;
      throw new InputError("INPUT_INVALID_VALUE", message);
    }
    return [{ line: index + 1, task, variant, child, fanout }];
  });
  if (observed.length > 0) return observed;
  const message =
    `${file}: expected the metrics of a pipeline server, ` +
    `with stratagem_fanout of ${model}, found none`;
  throw new InputError("INPUT_INVALID_VALUE", message);
}

function tasksWith(
  { tasks }: Application,
  observed: readonly Observed[],
  file: string,
): readonly Task[] {
  const flat = flatTasks(tasks);
  const fanouts = new Map<string, Map<string, number>>();
  for (const { line, task, variant, child, fanout } of observed) {
    const at = `${file}:${line}`;
    const parent = find(flat, ({ task: { name } }) => name, task, `${at}: the spec has no task`);
    find(parent.task.variants, ({ name }) => name, variant, `${at}: ${show(task)} has no variant`);
    const children = parent.children.flatMap((index) => flat[index] ?? []);
    const next = find(children, (one) => one.task.name, child, `${at}: ${show(task)} has no child`);
    if (Number.isNaN(fanout) || next.edge === null || next.edge.share === 0) continue;
    const key = `${task}\n${variant}`;
    const own = fanouts.get(key) ?? new Map<string, number>();
    fanouts.set(key, own.set(next.edge.first, fanout / next.edge.share));
  }
  return tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant) =>
      withFanouts(task, variant, fanouts.get(`${task.name}\n${variant.name}`)),
    ),
  }));
}

function withFanouts(
  { to }: Task,
  variant: Variant,
  observed: ReadonlyMap<string, number> | undefined,
): Variant {
  if (observed === undefined) return variant;
  const { fanout } = variant;
  const specified = (child: string): number =>
    typeof fanout === "number" ? fanout : (fanout?.[child] ?? 1);
  const entries = to.map(({ task }) => [task, observed.get(task) ?? specified(task)] as const);
  return { ...variant, fanout: Object.fromEntries(entries) };
}

/** @throws InputError that suggests the nearest name. */
function find<T>(items: readonly T[], nameOf: (item: T) => string, name: string, what: string): T {
  const found = items.find((item) => nameOf(item) === name);
  if (found !== undefined) return found;
  const names = items.map(nameOf);
  throw new InputError("INPUT_CONFLICT", `${what} ${show(name)}${suggestion(name, names)}`);
}

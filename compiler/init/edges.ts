/** Edges of a pipeline: a chain that hands tensors on if possible, otherwise a graph. */
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import type { Fed, Source } from "./chain.ts";
import type { InitTask } from "./read-tasks.ts";

export interface InitEdge {
  /** Index of the task before; −1 for a task that only hands requests on. */
  readonly from: number;
  readonly to: number;
  /** Output, or input, of the task before for each input. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly count: string | null;
  /** Choices to check. */
  readonly notes: readonly string[];
}

export interface Edges {
  readonly edges: readonly InitEdge[];
  /** Whether each task takes tensors of the task before only. */
  readonly isChain: boolean;
  /** Names in requests of inputs of the first task, by its own names. */
  readonly renamed: Readonly<Record<string, string>>;
}

export function edgesOf(tasks: readonly InitTask[]): Edges {
  const chain: InitEdge[] = [];
  for (const [to, { feeds, count }] of tasks.entries()) {
    if (to === 0) continue;
    const from = to - 1;
    const edge = edgeOf({ from, to }, feeds, count, (source) => nameAfter(tasks, from, source));
    if (edge === null) return graphOf(tasks);
    chain.push(edge);
  }
  return { edges: chain, isChain: true, renamed: {} };
}

/** Name of a tensor at a task that gives it, or takes it; null if it does neither. */
function nameAfter(tasks: readonly InitTask[], task: number, source: Source): string | null {
  const { outputs = [], feeds = [] } = tasks[task] ?? {};
  if (source.task === task) return source.tensor.name;
  const taken =
    task === 0 && source.task === -1
      ? source.tensor.name
      : feeds.find((fed) => fed.source === source)?.input;
  // An output of this name has precedence.
  return taken === undefined || outputs.some(({ name }) => name === taken) ? null : taken;
}

/** @returns null if a tensor has no name at the task before. */
function edgeOf(
  ends: Pick<InitEdge, "from" | "to">,
  feeds: readonly Fed[],
  count: InitTask["count"],
  nameOf: (source: Source) => string | null,
): InitEdge | null {
  const inputs: Record<string, string> = {};
  const notes: string[] = [];
  for (const { input, source, others } of feeds) {
    const name = nameOf(source);
    if (name === null) return null;
    inputs[input] = name;
    if (others.length > 0) notes.push(noteOf(input, name, others));
  }
  if (count !== null && count.others.length > 0) {
    notes.push(noteOf("count", count.count, count.others));
  }
  return { ...ends, inputs, count: count?.count ?? null, notes };
}

function noteOf(input: string, name: string, others: readonly string[]): string {
  return `check: ${input} may also be ${others.join(" or ")} instead of ${name}`;
}

/** Leads an edge from each task, and from requests, to every task that takes its tensors. */
function graphOf(tasks: readonly InitTask[]): Edges {
  const renamed: Record<string, string> = {};
  const edges: InitEdge[] = [];
  let hasRequests = false;
  for (const [to, { name, feeds, count }] of tasks.entries()) {
    const parents = new Set(feeds.map(({ source }) => source.task));
    if (count !== null && parents.size > 1) throw mixed(tasks, to);
    for (const from of parents) {
      const own = feeds.filter(({ source }) => source.task === from);
      const edge = edgeOf({ from, to }, own, count, ({ tensor }) => tensor.name);
      if (edge === null) continue;
      edges.push(from < 0 ? { ...edge, inputs: {} } : edge);
      if (from >= 0) continue;
      hasRequests = true;
      for (const { input, source } of own) {
        const own = source.tensor.name;
        const isFixed = tasks[0]?.models.some(({ module }) => module !== null) === true;
        const known = renamed[own] ?? (isFixed ? own : input);
        if (known !== input) throw namedTwice(name, input, known);
        if (known !== own) renamed[own] = known;
      }
    }
  }
  if (hasRequests) edges.unshift({ from: -1, to: 0, inputs: {}, count: null, notes: [] });
  return { edges, isChain: false, renamed };
}

function mixed(tasks: readonly InitTask[], to: number): InputError {
  const [name, parent] = [tasks[to]?.name, tasks[to - 1]?.name].map(show);
  const message =
    `task ${name} takes rows that ${parent} makes, and tensors of tasks before ${parent}, ` +
    `which have other rows; expected all of its inputs from ${parent}`;
  return new InputError("INPUT_CONFLICT", message);
}

function namedTwice(task: string, input: string, known: string): InputError {
  const message =
    `task ${show(task)} takes an input of requests as ${show(input)}, another task as ` +
    `${show(known)}; expected one name`;
  return new InputError("INPUT_CONFLICT", message);
}

/** Finds, for each input of each task of a chain, the tensor that feeds it. */
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import { isResized } from "./same-task.ts";

/** A tensor that exists before a task runs. */
export interface Source {
  /** Index of the task that gives it; −1 for an input of requests. */
  readonly task: number;
  readonly tensor: TensorInfo;
}

export interface Fed {
  readonly input: string;
  readonly source: Source;
  /** Tensors that are as plausible. */
  readonly others: readonly string[];
}

export interface Tensors {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

export interface ChainTask extends Tensors {
  /** Outputs with a varying number of rows, which another output counts. */
  readonly counted: readonly string[];
  /** Empty for the first task, which requests feed. */
  readonly feeds: readonly Fed[];
  /** Null if each row of the task before is one row. */
  readonly count: Counted | null;
}

/** Output of the task before that counts rows. */
interface Counted {
  readonly count: string;
  /** Outputs that are as plausible. */
  readonly others: readonly string[];
}

/**
 * Returns the tensors that exist after tasks: those of a task before those of earlier ones. Tensors
 * of earlier ones are passed on, so rows have one size and are those of the next task.
 */
export function sourcesAfter(tasks: readonly ChainTask[]): Source[][] {
  const groups = tasks.map(({ inputs, outputs, counted, feeds }, task): Source[][] => {
    const next = tasks[task + 1];
    const sent = outputs.filter(({ name, shape }) => {
      if (next === undefined) return true;
      return !shape.slice(1).includes(-1) && (next.count === null || counted.includes(name));
    });
    return [
      sent.map((tensor) => ({ task, tensor })),
      task === 0
        ? inputs.map((tensor) => ({ task: -1, tensor }))
        : feeds.map(({ source }) => source),
    ];
  });
  return groups.reverse().flat();
}

/**
 * Feeds inputs from the nearest tensors that fit: those of the same name first, then those of a
 * similar name, then any, then images of another size. Inputs that nothing fits are left out.
 * @param mayResize whether the models may have images resized.
 */
export function feedsOf(
  inputs: readonly TensorInfo[],
  sources: readonly Source[][],
  mayResize: boolean,
): Fed[] {
  const feeds = new Map<string, Fed>();
  const resized = mayResize ? [[isResized, () => true] as const] : [];
  const ranks = [isSameName, isSimilarName, () => true].map((isCalled) => {
    return [canFeed, isCalled] as const;
  });
  for (const group of sources) {
    for (const [fits, isCalled] of [...ranks, ...resized]) {
      for (const input of inputs) {
        if (feeds.has(input.name)) continue;
        const [source, ...others] = group.filter((one) => {
          const isUsed = [...feeds.values()].some((fed) => isSameSource(fed.source, one));
          return !isUsed && fits(input, one.tensor) && isCalled(input.name, one.tensor.name);
        });
        if (source === undefined) continue;
        const names = others.map(({ tensor }) => tensor.name);
        feeds.set(input.name, { input: input.name, source, others: names });
      }
    }
  }
  return inputs.flatMap(({ name }) => feeds.get(name) ?? []);
}

/**
 * Returns the output that counts the rows for the next task, and others that may as well; null if
 * each row is one row of the next.
 */
export function countOf(
  { outputs, counted }: ChainTask,
  feeds: readonly Fed[],
  task: number,
): Counted | null {
  const fed = feeds.flatMap(({ source }) => (source.task === task ? [source.tensor.name] : []));
  const isMany = fed.some((name) => counted.includes(name));
  const counts = outputs.filter((one) => isCount(one) && !fed.includes(one.name));
  const named = counts.filter(({ name }) => COUNT_NAME.test(name));
  const [count, ...others] = (named.length > 0 ? named : counts).map(({ name }) => name);
  return isMany && count !== undefined ? { count, others } : null;
}

/** Letters of a name: a shorter one is part of many. */
const LEAST_SIMILAR = 3;
const COUNT_NAME = /count|num|len|total/i;

/** Whether a tensor is one whole number for each row. */
export function isCount({ dtype, shape }: TensorInfo): boolean {
  return dtype === "int64" && shape.slice(1).every((size) => size === 1);
}

/** An axis that is open in either is checked at every batch. */
function canFeed(input: TensorInfo, output: TensorInfo): boolean {
  const [taken, given] = [input.shape.slice(1), output.shape.slice(1)];
  if (input.dtype !== output.dtype || taken.length !== given.length) return false;
  return given.every((size, axis) => size < 0 || size === taken[axis] || taken[axis] === -1);
}

export function isSameSource(a: Source, b: Source): boolean {
  return a.task === b.task && a.tensor.name === b.tensor.name;
}

function isSameName(a: string, b: string): boolean {
  return a === b;
}

function isSimilarName(a: string, b: string): boolean {
  const [one = "", other = ""] = [a, b].map((name) => {
    return name
      .toLowerCase()
      .replaceAll(/[^a-z]/g, "")
      .replace(/s$/, "");
  });
  if (Math.min(one.length, other.length) < LEAST_SIMILAR) return false;
  return one.includes(other) || other.includes(one);
}

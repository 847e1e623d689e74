/** Letters that stand for variants, the same in `inspect` and in every figure of a report. */
import type { Variant } from "../bundle/schema.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

/** Returns `a` to `z`, then `a1` to `z1` and so on. @param position from 0. */
export function letterAt(position: number): string {
  const round = Math.floor(position / LETTERS.length);
  return `${LETTERS[position % LETTERS.length] ?? "?"}${round === 0 ? "" : round}`;
}

/**
 * Returns the position of each variant, from the least accurate up, with dominated variants last.
 */
export function positionsOf(
  variants: readonly Pick<Variant, "accuracy" | "dominated">[],
): readonly number[] {
  const ordered = variants
    .map(({ accuracy, dominated }, variant) => ({ accuracy, dominated, variant }))
    .sort(
      (a, b) =>
        Number(a.dominated) - Number(b.dominated) ||
        a.accuracy - b.accuracy ||
        a.variant - b.variant,
    );
  const positions = new Map(ordered.map(({ variant }, position) => [variant, position]));
  return variants.map((_, variant) => positions.get(variant) ?? 0);
}

/** One of several tasks that each have variants or hardware of their own. */
interface LetteredTask {
  readonly name: string;
  /** Variants or pools to choose from, in the order in which letters are given. */
  readonly choices: readonly { readonly index: number; readonly name: string }[];
}

/** A letter and what it stands for. */
export interface Lettered {
  /** Index of the task. */
  readonly task: number;
  /** Index of the variant or pool in the task. */
  readonly variant: number;
  readonly taskName: string;
  readonly name: string;
  readonly letter: string;
  /** Rank among those of the task, 0 for the first and 1 for the last. */
  readonly rank: number;
}

/** Assigns letters consecutively, task by task. */
export function lettersByTask(tasks: readonly LetteredTask[]): Lettered[] {
  const lettered: Lettered[] = [];
  for (const [task, { name: taskName, choices }] of tasks.entries()) {
    for (const [position, { index: variant, name }] of choices.entries()) {
      const rank = choices.length === 1 ? 0.5 : position / (choices.length - 1);
      const letter = letterAt(lettered.length);
      lettered.push({ task, variant, taskName, name, letter, rank });
    }
  }
  return lettered;
}

/** Returns the letter of a variant of a task; a dash if it has no letter. */
export function letterOf(lettered: readonly Lettered[], task: number, variant: number): string {
  return lettered.find((one) => one.task === task && one.variant === variant)?.letter ?? "-";
}

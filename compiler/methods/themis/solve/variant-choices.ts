/** Variant of each task that a plan may have: every combination, the most accurate first. */
import { planAccuracy } from "stratagem-runtime/internal/methods/themis/core/plan-accuracy";
import type { ThemisFrame } from "../../../model/frames.ts";

/** More combinations than this are refused. */
export const MAX_CHOICES = 4096;

/** One variant for each task. One that runs in several pools is several variants. */
export interface VariantChoice {
  /** Per task, index among its variants. */
  readonly variants: readonly number[];
  /** Accuracy of the answers. */
  readonly accuracy: number;
  /** The frame with these variants alone. */
  readonly frame: ThemisFrame;
}

export function choiceCount(tasks: readonly { readonly variants: readonly unknown[] }[]): number {
  return tasks.reduce((product, { variants }) => product * variants.length, 1);
}

/** Falling in accuracy; of equals those with earlier variants come first. */
export function variantChoices(frame: ThemisFrame): VariantChoice[] {
  const { tasks } = frame;
  const count = choiceCount(tasks);
  if (count === 1) {
    const variants = tasks.map(() => 0);
    return [{ variants, accuracy: accuracyOf(tasks, variants), frame }];
  }
  const choices = Array.from({ length: count }, (_, number): VariantChoice => {
    const variants = digitsOf(number, tasks);
    const own = tasks.map((task, at) => {
      return { ...task, variants: task.variants.slice(variants[at] ?? 0).slice(0, 1) };
    });
    return { variants, accuracy: accuracyOf(tasks, variants), frame: { ...frame, tasks: own } };
  });
  return choices.sort((a, b) => b.accuracy - a.accuracy);
}

function accuracyOf(tasks: ThemisFrame["tasks"], variants: readonly number[]): number {
  return planAccuracy(
    tasks,
    variants.map((variant) => ({ variant })),
  );
}

/** The last task's variants change first. */
function digitsOf(number: number, tasks: ThemisFrame["tasks"]): number[] {
  const digits: number[] = [];
  let rest = number;
  for (const { variants } of tasks.toReversed()) {
    digits.unshift(rest % variants.length);
    rest = Math.floor(rest / variants.length);
  }
  return digits;
}

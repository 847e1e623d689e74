/** Counts right and wrong answers per variant and estimates their accuracies. */
import type { LabelledAnswers } from "../../server/measures/facts.ts";
import type { Answerer } from "../../server/requests/request.ts";
import { type Interval, shareInterval } from "./confidence.ts";

/** One minus the confidence level, valid at all times simultaneously. */
export const ALPHA = 0.05;

/** Limit of pipeline paths that are counted separately; further ones are counted as one. */
const MAX_PATHS = 256;
const OTHER_PATHS = "other";

interface LabelCounts {
  readonly correct: number;
  readonly wrong: number;
}

interface Counts extends LabelCounts {
  readonly profiled: number;
  correct: number;
  wrong: number;
}

/** Estimated accuracy of one variant. */
export interface VariantAccuracy extends Interval {
  readonly name: string;
  readonly profiled: number;
  readonly labels: LabelCounts;
  /** Null without observations. */
  readonly estimate: number | null;
}

export class VariantCounts {
  readonly #counts = new Map<string, Counts>();

  constructor(profiledByVariant: ReadonlyMap<string, number>) {
    for (const [name, profiled] of profiledByVariant) this.#counts.set(name, fresh(profiled));
  }

  /** Name under which an answer is counted: its own, or a common one beyond the limit. */
  known({ variant, accuracy }: Answerer): string {
    if (this.#counts.has(variant)) return variant;
    const name = this.#counts.size < MAX_PATHS ? variant : OTHER_PATHS;
    if (!this.#counts.has(name)) {
      this.#counts.set(name, fresh(name === variant ? accuracy : Number.NaN));
    }
    return name;
  }

  onLabel(name: string, isRight: boolean): void {
    const counts = this.#counts.get(name);
    if (counts === undefined) return;
    if (isRight) counts.correct++;
    else counts.wrong++;
  }

  /** Rows whose truth is known, per variant that has any. */
  labelled(): LabelledAnswers[] {
    return Array.from(this.#counts).flatMap(([variant, { correct, wrong }]) => {
      const asked = correct + wrong;
      return asked === 0 ? [] : [{ variant, asked, correct }];
    });
  }

  /** Ordered as in the bundle; paths in the order in which they were first seen. */
  accuracies(): VariantAccuracy[] {
    return Array.from(this.#counts, ([name, { profiled, correct, wrong }]) => {
      const asked = correct + wrong;
      const estimate = asked === 0 ? null : correct / asked;
      const interval = shareInterval(correct, wrong, ALPHA);
      return { name, profiled, labels: { correct, wrong }, estimate, ...interval };
    });
  }
}

function fresh(profiled: number): Counts {
  return { profiled, correct: 0, wrong: 0 };
}

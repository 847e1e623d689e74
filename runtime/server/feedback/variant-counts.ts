/** Counts of each variant: right and wrong answers, and agreement with the best one. */
import type { Answerer } from "../requests/request.ts";
import {
  type AccuracyEstimate,
  type AgreementCounts,
  type Best,
  combinedEstimate,
  type LabelCounts,
  labelEstimate,
} from "./accuracy-estimate.ts";

/** Paths of a pipeline that are told apart; what answers beside them is one. */
const MAX_PATHS = 256;
export const OTHER_PATHS = "other";

interface Counts {
  readonly profiled: number;
  correct: number;
  wrong: number;
  same: number;
  different: number;
}

/** One variant, as it is told. */
export interface VariantAccuracy extends AccuracyEstimate {
  readonly name: string;
  readonly profiled: number;
  readonly labels: LabelCounts;
  /** Undefined where nothing is compared with the best. */
  readonly agreement: AgreementCounts | undefined;
}

export interface CountingOptions {
  readonly isShadowed: boolean;
  /** That answers choose from; undefined where that is not known. */
  readonly classes: number | undefined;
}

export class VariantCounts {
  /** The most accurate variant by the profile, the first of several; empty without any. */
  readonly best: string;
  readonly #counts = new Map<string, Counts>();
  readonly #options: CountingOptions;

  constructor(profiledByVariant: ReadonlyMap<string, number>, options: CountingOptions) {
    this.#options = options;
    let [best, most] = ["", Number.NEGATIVE_INFINITY];
    for (const [name, profiled] of profiledByVariant) {
      this.#counts.set(name, fresh(profiled));
      if (profiled > most) [best, most] = [name, profiled];
    }
    this.best = best;
  }

  /** The name that an answerer is counted by: its own, unless there are too many of them. */
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

  /** The best variant has answered a row again that another had answered. */
  onCompared(name: string, isSame: boolean): void {
    const counts = this.#counts.get(name);
    if (counts === undefined) return;
    if (isSame) counts.same++;
    else counts.different++;
  }

  /** In the order of the bundle; paths in that in which they were first seen. */
  accuracies(): VariantAccuracy[] {
    const { isShadowed, classes } = this.#options;
    const best = this.#best();
    return Array.from(this.#counts, ([name, { profiled, ...counts }]) => {
      const labels = { correct: counts.correct, wrong: counts.wrong };
      const isCompared = isShadowed && name !== this.best && best !== undefined;
      const agreement = { same: counts.same, different: counts.different };
      const estimate = isCompared
        ? combinedEstimate(labels, agreement, best, classes)
        : labelEstimate(labels);
      return {
        name,
        profiled,
        labels,
        agreement: isCompared ? agreement : undefined,
        ...estimate,
      };
    });
  }

  #best(): Best | undefined {
    const counts = this.#counts.get(this.best);
    if (counts === undefined) return undefined;
    const { profiled, correct, wrong } = counts;
    return { profiled, labels: { correct, wrong } };
  }
}

function fresh(profiled: number): Counts {
  return { profiled, correct: 0, wrong: 0, same: 0, different: 0 };
}

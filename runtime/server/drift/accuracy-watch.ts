/** Watches whether a variant is right as often as the bundle states, where truth is fed back. */
import { ACCURACY_TOLERANCE, percent } from "./outcome-watches.ts";
import { Watch } from "./watch.ts";
import type { Reading } from "./watched.ts";
import type { Change } from "./watched-promise.ts";

/** Answers of which the truth is known that make a block. */
export const BLOCK_ANSWERS = 25;
const BLOCKS_TO_HOLD = 40;

export interface StatedAccuracy {
  readonly task?: string | undefined;
  readonly variant: string;
  /** 0 to 1. */
  readonly accuracy: number;
}

/** Rows of a variant of which feedback told the truth since the bundle was opened. */
export interface VariantEvidence {
  readonly variant: string;
  readonly asked: number;
  /** Rows of these that the variant had right. */
  readonly correct: number;
}

/** Returns one entry at most for each variant; none for a variant without feedback. */
export type AccuracyEvidence = () => readonly VariantEvidence[];

export class AccuracyWatch extends Watch {
  readonly promise = "accuracy";
  readonly #stated: StatedAccuracy;
  readonly #evidence: AccuracyEvidence;
  #asked = 0;
  #correct = 0;
  #startMs = Number.NaN;
  #doubtedAsked = 0;
  #doubtedCorrect = 0;

  constructor(stated: StatedAccuracy, evidence: AccuracyEvidence, threshold: number) {
    super(threshold, BLOCKS_TO_HOLD);
    this.#stated = stated;
    this.#evidence = evidence;
  }

  look(_reading: Reading, nowMs: number): Change {
    const { variant, accuracy } = this.#stated;
    const own = this.#evidence().find((one) => one.variant === variant);
    if (own === undefined) return undefined;
    const asked = own.asked - this.#asked;
    if (Number.isNaN(this.#startMs)) this.#startMs = nowMs;
    if (asked < BLOCK_ANSWERS) return undefined;
    const correct = own.correct - this.#correct;
    if (!this.isDoubted) {
      this.#doubtedAsked = 0;
      this.#doubtedCorrect = 0;
    }
    this.#doubtedAsked += asked;
    this.#doubtedCorrect += correct;
    this.#asked = own.asked;
    this.#correct = own.correct;
    const value = Math.min(1, Math.max(0, 1 - correct / asked));
    const promised = Math.min(1, 1 - accuracy + ACCURACY_TOLERANCE);
    const startMs = this.#startMs;
    this.#startMs = nowMs;
    return this.see({ value, promised, startMs, endMs: nowMs });
  }

  because(since: string): string {
    const { task, variant, accuracy } = this.#stated;
    const name = task === undefined ? variant : `${task}/${variant}`;
    const right = percent(this.#doubtedCorrect / this.#doubtedAsked);
    const of = `of ${this.#doubtedAsked} answers whose truth is known`;
    return `${name} is right in ${right} ${of} ${since}, ${percent(accuracy)} is stated`;
  }
}

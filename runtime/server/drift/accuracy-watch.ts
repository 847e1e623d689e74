/** Watches whether a variant is right as often as the bundle states, where truth is fed back. */
import type { AccuracyEvidence } from "./accuracy-evidence.ts";
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

export class AccuracyWatch extends Watch {
  readonly promise = "accuracy";
  readonly #stated: StatedAccuracy;
  readonly #evidence: () => AccuracyEvidence | undefined;
  #asked = 0;
  #correct = 0;
  #startMs = Number.NaN;
  #doubtedAsked = 0;
  #doubtedCorrect = 0;

  /** @param evidence undefined while nobody feeds truth back. */
  constructor(
    stated: StatedAccuracy,
    evidence: () => AccuracyEvidence | undefined,
    threshold: number,
  ) {
    super(threshold, BLOCKS_TO_HOLD);
    this.#stated = stated;
    this.#evidence = evidence;
  }

  look(_reading: Reading, nowMs: number): Change {
    const { task, variant, accuracy } = this.#stated;
    const counts = this.#evidence()?.counts() ?? [];
    const own = counts.find((one) => one.variant === variant && (one.task ?? task) === task);
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

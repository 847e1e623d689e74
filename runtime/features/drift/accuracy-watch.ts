/** Watches whether a variant is as accurate as the bundle states, given feedback. */
import { type LabelledAnswers, percentText } from "../../server/measures/facts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { ACCURACY_TOLERANCE } from "./outcome-watches.ts";
import { Watch } from "./watch.ts";
import type { Change } from "./watched-promise.ts";

/** Answers with feedback that make a block. */
const BLOCK_ANSWERS = 25;
const BLOCKS_TO_HOLD = 40;

export interface StatedAccuracy {
  readonly task?: string | undefined;
  readonly variant: string;
  readonly accuracy: number;
}

/** Returns at most one entry per variant, none without feedback. */
export type LabelledNow = () => readonly LabelledAnswers[];

export class AccuracyWatch extends Watch {
  readonly promise = "accuracy";
  readonly #stated: StatedAccuracy;
  readonly #evidence: LabelledNow;
  #asked = 0;
  #correct = 0;
  #startMs = Number.NaN;
  #doubtedAsked = 0;
  #doubtedCorrect = 0;

  constructor(stated: StatedAccuracy, evidence: LabelledNow, threshold: number) {
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
    const right = percentText(this.#doubtedCorrect / this.#doubtedAsked);
    const of = `of ${this.#doubtedAsked} answers with feedback`;
    const stated = `the bundle states ${percentText(accuracy)}`;
    return `${name} is right in ${right} ${of} ${since}; ${stated}`;
  }
}

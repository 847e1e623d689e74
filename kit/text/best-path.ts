/** Greedy decoding of connectionist temporal classification. */

export interface Alphabet {
  /** Texts by class; that of the blank is empty. */
  readonly characters: readonly string[];
  readonly blank: number;
  /** Whether steps are logits, which softmax makes probabilities of. */
  readonly areLogits: boolean;
}

export interface Line {
  readonly text: string;
  /** Mean probability of the characters of the text; 0 without any. */
  readonly confidence: number;
}

/**
 * @param steps [time, classes], row-major. Of equal classes the lowest is taken.
 * @throws RangeError if a step has no largest class: a value is no number.
 */
export function bestPath(steps: Float32Array, { characters, blank, areLogits }: Alphabet): Line {
  const classes = characters.length;
  const kept: string[] = [];
  let sum = 0;
  let before = -1;
  for (let start = 0; start < steps.length; start += classes) {
    const best = argmax(steps, start, classes);
    if (best !== before && best !== blank) {
      kept.push(characters[best] ?? "");
      const score = steps[start + best] ?? 0;
      sum += areLogits ? likelihood(steps, start, classes, score) : score;
    }
    before = best;
  }
  return { text: kept.join(""), confidence: kept.length === 0 ? 0 : sum / kept.length };
}

function argmax(steps: Float32Array, start: number, classes: number): number {
  let best = 0;
  let max = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < classes; at++) {
    const score = steps[start + at] as number;
    // NaN is not comparable, and has to be found too.
    if (score <= max) continue;
    if (Number.isNaN(score)) {
      throw new RangeError(`expected numbers, got NaN in step ${start / classes}`);
    }
    max = score;
    best = at;
  }
  return best;
}

/** Softmax of the largest. */
function likelihood(steps: Float32Array, start: number, classes: number, max: number): number {
  let sum = 0;
  for (let at = 0; at < classes; at++) sum += Math.exp((steps[start + at] as number) - max);
  return 1 / sum;
}

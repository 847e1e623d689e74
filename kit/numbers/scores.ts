/** Scores of classes: softmax, and which are the largest. */

/**
 * Probabilities of logits, into `out`.
 * @throws RangeError if a logit is no number, or infinite.
 */
export function softmax(logits: Float32Array, out: Float32Array): void {
  const max = finiteMax(logits);
  let sum = 0;
  for (let at = 0; at < logits.length; at++) sum += Math.exp((logits[at] ?? 0) - max);
  for (let at = 0; at < logits.length; at++) out[at] = Math.exp((logits[at] ?? 0) - max) / sum;
}

/**
 * Indices of the `count` largest, the largest first; of equal ones the lowest index comes first.
 * @throws RangeError if a score is no number, or infinite.
 */
export function largest(scores: Float32Array, count: number): number[] {
  finiteMax(scores);
  const best: number[] = [];
  for (let index = 0; index < scores.length; index++) {
    const score = scores[index] ?? 0;
    if (best.length === count && score <= (scores[best[count - 1] ?? 0] ?? 0)) continue;
    let place = best.length;
    while (place > 0 && score > (scores[best[place - 1] ?? 0] ?? 0)) place--;
    best.splice(place, 0, index);
    if (best.length > count) best.pop();
  }
  return best;
}

function finiteMax(scores: Float32Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] ?? 0;
    if (!Number.isFinite(score)) throw new RangeError(`expected finite scores, got ${score}`);
    if (score > max) max = score;
  }
  return max;
}

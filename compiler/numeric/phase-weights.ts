/**
 * Distribution of the residue of a Poisson count: weight[q] ∝ P[Poisson(mean) = base + q] for q = 0
 * … weight.length − 1, normalised.
 *
 * Computed outward from its largest term, so neither a base far from the mean nor a mean of 0
 * underflows; in the limit mean → 0 all weight is on the smallest count.
 * @param weight overwritten. Source: RAMSIS §4.4, eq. 2, interval A.
 */
export function phaseWeights(base: number, mean: number, weight: Float64Array): void {
  const count = weight.length;
  const mode = Math.min(count - 1, Math.max(0, Math.floor(mean) - base));
  weight[mode] = 1;
  let sum = 1;
  for (let q = mode + 1; q < count; q++) {
    weight[q] = weight[q - 1]! * (mean / (base + q));
    sum += weight[q]!;
  }
  for (let q = mode - 1; q >= 0; q--) {
    weight[q] = weight[q + 1]! * ((base + q + 1) / mean);
    sum += weight[q]!;
  }
  for (let q = 0; q < count; q++) weight[q] = weight[q]! / sum;
}

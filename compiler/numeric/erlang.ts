/**
 * Erlang distribution of a sum of exponential times, and the Erlang C formula for the probability
 * of waiting.
 */

const BISECTIONS = 80;

/**
 * Quantile of the sum of `phases` exponential times of mean 1.
 * @param phases 0 gives 0.
 * @param probability in [0, 1).
 */
export function erlangQuantile(phases: number, probability: number): number {
  if (phases === 0 || probability === 0) return 0;
  let low = 0;
  let high = phases;
  while (erlangCdf(phases, high) < probability) high *= 2;
  for (let step = 0; step < BISECTIONS && low < high; step++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (erlangCdf(phases, middle) < probability) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Probability that all phases have ended: that a Poisson count of mean `time` is at least `phases`.
 */
function erlangCdf(phases: number, time: number): number {
  let term = Math.exp(-time);
  let below = 0;
  for (let count = 0; count < phases; count++) {
    below += term;
    term *= time / (count + 1);
  }
  return 1 - below;
}

/**
 * Erlang C, the probability that an arrival waits, from Erlang B, the blocking probability, which
 * is computed server by server.
 * @param load offered, in servers; below `servers`.
 */
export function erlangCOf(servers: number, load: number, blocked: number): number {
  const utilization = load / servers;
  return blocked / (1 - utilization + utilization * blocked);
}

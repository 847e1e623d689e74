/** Erlang's distribution of a sum of exponential times, and his formula for the chance to wait. */

const BISECTIONS = 80;

/**
 * Time that a sum of exponential times of mean 1 stays below with a probability.
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
 * Probability that so many phases are over: that a Poisson count of this mean is at least as high.
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
 * Chance that an arrival waits for one of so many servers, Erlang's C, from the chance that all are
 * taken where nobody waits, Erlang's B, which is found server by server.
 * @param load offered, in servers; below `servers`.
 */
export function erlangCOf(servers: number, load: number, blocked: number): number {
  const utilization = load / servers;
  return blocked / (1 - utilization + utilization * blocked);
}

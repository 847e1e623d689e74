/** Corrects a metric for the tolerance of the horizontal pod autoscaler. */

/** Tolerates rounding errors of a division. */
const ROUNDING = 1e-9;

/**
 * The autoscaler ignores a metric within its tolerance of the current replicas, 10 % by default: it
 * never scales from 20 to 21. This raises such a metric just beyond the tolerance. Fewer replicas
 * are never forced, because too many serve as well.
 * @param wanted replicas, 0 or more. @param replicas currently running. @param tolerance in [0, 1).
 * @returns wanted, or the smallest number that takes effect. Source: kube-controller-manager,
 * podautoscaler: |usage / (target × replicas) − 1| ≤ tolerance changes nothing, else replicas =
 * ⌈usage / target⌉.
 */
export function past(wanted: number, replicas: number, tolerance: number): number {
  if (wanted <= replicas || replicas === 0) return wanted;
  const most = replicas * (1 + tolerance);
  if (wanted > most + ROUNDING) return wanted;
  return Math.floor(most + ROUNDING) + 1;
}

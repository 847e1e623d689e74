/** What to ask the horizontal pod autoscaler for, so that it does not let things be. */

/** Digits lost in a division are no more replicas. */
const ROUNDING = 1e-9;

/**
 * The autoscaler leaves replicas as they are while what is asked for is within its tolerance of
 * them, 10 % unless configured: of 20 it never makes 21. Asked for a little more than that, it adds
 * as many as are just beyond. Where fewer are wanted nothing is added: too many serve as well.
 * @param wanted replicas, 0 or more. @param replicas that there are. @param tolerance in [0, 1).
 * @returns wanted, or the fewest that are acted on. Source: kube-controller-manager, podautoscaler:
 * |usage / (target × replicas) − 1| ≤ tolerance changes nothing, else replicas = ⌈usage / target⌉.
 */
export function past(wanted: number, replicas: number, tolerance: number): number {
  if (wanted <= replicas || replicas === 0) return wanted;
  const most = replicas * (1 + tolerance);
  if (wanted > most + ROUNDING) return wanted;
  return Math.floor(most + ROUNDING) + 1;
}

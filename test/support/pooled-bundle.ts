import { GIVE_UP, NO_ACTION, type RamsisBundle } from "../../runtime/bundle/schema.ts";

/**
 * A tiny bundle made pooled: a single query waits until less than half of the SLO is left, more of
 * them run in twos.
 */
export function waitingBundle(bundle: RamsisBundle): RamsisBundle {
  const slackCount = bundle.decisionSpace.slackMs.data.length;
  const single = 0;
  const pair = 1;
  const levels = bundle.levels.map((level) => {
    const data = Uint16Array.from(level.actionByState.data, (_, cell) => {
      if (cell >= slackCount) return pair;
      return cell >= Math.floor(slackCount / 2) ? NO_ACTION : single;
    });
    const { shape } = level.actionByState;
    return { ...level, actionByState: { dtype: "uint16", shape, data } as const };
  });
  return { ...bundle, policy: { ...bundle.policy, balancer: "pooled" }, levels };
}

/** A tiny bundle made pooled that gives every query up: it is served late. */
export function givingUpBundle(bundle: RamsisBundle): RamsisBundle {
  const levels = bundle.levels.map((level) => {
    const { shape, data } = level.actionByState;
    const given = new Uint16Array(data.length).fill(GIVE_UP);
    return { ...level, actionByState: { dtype: "uint16", shape, data: given } as const };
  });
  return { ...bundle, policy: { ...bundle.policy, balancer: "pooled" }, levels };
}

/** Plans whose instances fit into machines: others in the order of their cost, until one does. */
import type { ScalingPlan } from "./problem.ts";
import type { InstancesOf, NarrowedMode, ScalingMode } from "./task-options.ts";

/** Plans that are looked at, at most: the first few nearly always have one that fits. */
const MOST_LOOKED_AT = 128;

/** Plans that begin as one that was looked at, and go on otherwise. */
interface Open {
  readonly plan: ScalingPlan;
  /** Tasks before that are those of the plan; that one is none of `except`. */
  readonly fixed: number;
  readonly except: readonly InstancesOf[];
}

interface Packing {
  readonly mode: ScalingMode;
  /** No plan that costs more is of use: all cores. */
  readonly mostCost: number;
  /** Plans that are looked at, at most; left out, the few that do for one pool. */
  readonly mostLookedAt?: number;
  readonly fits: (plan: ScalingPlan) => boolean;
  /** The plan that costs least, of those that a mode leaves. */
  readonly find: (mode: NarrowedMode) => ScalingPlan | null;
}

/**
 * The plan that costs least, and of those the least latency, that fits; whether a plan does is
 * a matter of the cores and the number of its instances. What is left after a plan is cut into
 * parts: those that agree with it up to some task and have other instances there. Source: Lawler,
 * "A procedure for computing the K best solutions to discrete optimization problems", 1972.
 * @param first the plan that costs least, whether it fits or not.
 * @returns null where no plan within the budget fits, or none of the first ones.
 */
export function packedPlan(first: ScalingPlan, packing: Packing): ScalingPlan | null {
  const open: Open[] = [{ plan: first, fixed: 0, except: [] }];
  const { mostLookedAt = MOST_LOOKED_AT } = packing;
  for (let looked = 0; looked < mostLookedAt; looked++) {
    const next = takeBest(open);
    if (next === null || next.plan.cost > packing.mostCost) return null;
    if (packing.fits(next.plan)) return next.plan;
    for (const part of partsAfter(next, packing)) open.push(part);
  }
  return null;
}

/** Ties go to the least latency, then to what was found first. */
function takeBest(open: Open[]): Open | null {
  let best = -1;
  for (const [index, { plan }] of open.entries()) {
    const other = open[best]?.plan;
    const order =
      other === undefined ? -1 : plan.cost - other.cost || plan.latencyMs - other.latencyMs;
    if (order < 0) best = index;
  }
  return best < 0 ? null : (open.splice(best, 1)[0] ?? null);
}

function* partsAfter({ plan, fixed, except }: Open, { mode, find }: Packing): Generator<Open> {
  const instances = plan.stages.map(({ cores, instances: count }) => ({ cores, instances: count }));
  for (const [task, own] of instances.entries()) {
    if (task < fixed) continue;
    const others = task === fixed ? [...except, own] : [own];
    const same = instances.slice(0, task);
    const found = find({ kind: "narrowed", of: mode, fixed: same, except: others });
    if (found !== null) yield { plan: found, fixed: task, except: others };
  }
}

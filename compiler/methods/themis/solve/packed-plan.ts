/**
 * Plans whose instances fit into machines: tries plans in the order of their cost, until one fits.
 */
import type { ScalingPlan } from "./problem.ts";
import type { InstancesOf, NarrowedMode, ScalingMode } from "./task-options.ts";

/** Maximum number of tried plans: one of the first few nearly always fits. */
const MAX_TRIED = 128;

/** Plans that share a prefix with a tried plan, and differ after it. */
interface Open {
  readonly plan: ScalingPlan;
  /** The first `fixed` tasks are those of the plan; the next is not in `except`. */
  readonly fixed: number;
  readonly except: readonly InstancesOf[];
}

interface Packing {
  readonly mode: ScalingMode;
  /** Plans that cost more are useless: the cost of all cores. */
  readonly mostCost: number;
  /** Maximum number of tried plans; default: the few that suffice for one pool. */
  readonly maxTried?: number;
  readonly fits: (plan: ScalingPlan) => boolean;
  /** Returns the cheapest plan of a mode. */
  readonly find: (mode: NarrowedMode) => ScalingPlan | null;
}

/**
 * Returns the cheapest plan that fits, and of those the one with the least latency; whether a plan
 * fits depends on the cores and the number of its instances. The remaining plans are partitioned:
 * those that agree with a tried plan up to some task and have other instances there. Source:
 * Lawler, "A procedure for computing the K best solutions to discrete optimization problems", 1972.
 * @param first the cheapest plan, whether it fits or not.
 * @returns null if no plan within the budget fits, or none of the first ones.
 */
export function packedPlan(first: ScalingPlan, packing: Packing): ScalingPlan | null {
  const open: Open[] = [{ plan: first, fixed: 0, except: [] }];
  const { maxTried = MAX_TRIED } = packing;
  for (let looked = 0; looked < maxTried; looked++) {
    const next = takeBest(open);
    if (next === null || next.plan.cost > packing.mostCost) return null;
    if (packing.fits(next.plan)) return next.plan;
    for (const part of partsAfter(next, packing)) open.push(part);
  }
  return null;
}

/** Ties go to the least latency, then to the first found. */
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

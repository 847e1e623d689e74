/** How much of the SLO a plan keeps free, so that it holds on traces that it was not made with. */
import type { Configuration } from "../../../graph/served-tasks.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import { judge } from "./judge.ts";
import type { ProvisioningProblem } from "./problem.ts";
import { type Provisioned, type ProvisionOptions, provision } from "./provision.ts";

/** Of the limit of a search that each margin may use: there are several. */
const PROBE_PART = 4;
/** Margins that are tried are whole multiples of this. */
const STEP = 0.01;
const MOST_STEPS = 60;
/**
 * Ratio of the calibration traces on which the SLO has to hold: more than is promised of others,
 * since the margin is fitted to these.
 */
const MET_RATIO = 0.98;

export interface MarginPlan extends Provisioned {
  readonly margin: number;
}

/** The plan with a given margin. */
export function planWithMargin(
  problem: ProvisioningProblem,
  samples: readonly RequestTrace[],
  margin: number,
  options: Omit<ProvisionOptions, "sloMs">,
): MarginPlan {
  const sloMs = problem.sloMs * (1 - margin);
  return { ...provision(problem, samples, { ...options, sloMs }), margin };
}

/**
 * The plan with the least margin under which it meets the SLO on nearly all calibration traces;
 * margins in between are bisected, as if more always helped.
 * @returns the plan with the largest margin that has one, if none of them does.
 */
export function planWithLeastMargin(
  problem: ProvisioningProblem,
  samples: readonly RequestTrace[],
  calibration: readonly RequestTrace[],
  options: Omit<ProvisionOptions, "sloMs" | "known">,
): MarginPlan {
  const missesAllowed = Math.floor((1 - MET_RATIO) * calibration.length + 1e-9);
  const known = new Map<string, boolean>();
  // Neighbouring margins often have the same plan.
  const holds = ({ configuration }: MarginPlan): boolean => {
    if (configuration === null) return false;
    const key = JSON.stringify(configuration);
    const found = known.get(key) ?? isMet(problem, configuration, calibration, missesAllowed);
    known.set(key, found);
    return found;
  };
  const probe = { ...options, queryLimit: options.queryLimit / PROBE_PART };
  let largest = planWithMargin(problem, samples, 0, probe);
  if (largest.configuration === null || holds(largest)) return largest;
  let best: MarginPlan | null = null;
  let low = 0;
  let high = MOST_STEPS + 1;
  // Doubled first, since small margins are the likely ones, then bisected.
  for (let steps = 1; high - low > 1; steps = nextSteps(low, high, best !== null)) {
    // A plan with more margin serves with less, and one with less margin costs no more.
    const { lowerBound } = largest;
    const plan = planWithMargin(problem, samples, steps * STEP, {
      ...probe,
      known: { configuration: best?.configuration ?? null, lowerBound },
    });
    if (plan.configuration !== null && !holds(plan)) {
      low = steps;
      largest = plan;
      continue;
    }
    if (plan.configuration !== null) best = plan;
    high = steps;
  }
  return best ?? largest;
}

function isMet(
  problem: ProvisioningProblem,
  configuration: Configuration,
  calibration: readonly RequestTrace[],
  missesAllowed: number,
): boolean {
  const { traces, met } = judge(problem, configuration, calibration, missesAllowed);
  return traces - met <= missesAllowed;
}

function nextSteps(low: number, high: number, isBetween: boolean): number {
  const middle = (low + high) >>> 1;
  return isBetween ? middle : Math.min(2 * Math.max(1, low), middle);
}

/**
 * Margin: how much of the SLO a plan keeps free, so that it holds on traces that it was not made
 * with.
 */
import type { Configuration } from "../../../graph/served-tasks.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import { judge } from "./judge.ts";
import { costOf, type ProvisioningProblem } from "./problem.ts";
import { type Provisioned, type ProvisionOptions, provision } from "./provision.ts";

/** Divisor of the search limit for each margin: there are several. */
const PROBE_PART = 4;
/** Margins are multiples of this. */
const STEP = 0.01;
const MOST_STEPS = 60;
/**
 * Share of the calibration traces on which the SLO must hold: more than is promised for others,
 * since the margin is fitted to these.
 */
const MET_RATIO = 0.98;

export interface MarginPlan extends Provisioned {
  readonly margin: number;
}

export function planWithMargin(
  problem: ProvisioningProblem,
  samples: readonly RequestTrace[],
  margin: number,
  options: Omit<ProvisionOptions, "sloMs">,
): MarginPlan {
  const sloMs = problem.sloMs * (1 - margin);
  return { ...provision(problem, samples, { ...options, sloMs }), margin };
}

type MarginOptions = Omit<ProvisionOptions, "sloMs" | "known">;

/**
 * Returns the plan with the least margin that meets the SLO on nearly all calibration traces;
 * bisects margins on the assumption that more always helps. Probes have a part of the limit; the
 * chosen plan is proven with all of it, as far as that goes.
 * @returns the plan with the largest margin that has one, if no plan holds.
 */
export function planWithLeastMargin(
  problem: ProvisioningProblem,
  samples: readonly RequestTrace[],
  calibration: readonly RequestTrace[],
  options: MarginOptions,
): MarginPlan {
  return new LeastMargin(problem, samples, calibration, options).search();
}

class LeastMargin {
  readonly #problem: ProvisioningProblem;
  readonly #samples: readonly RequestTrace[];
  readonly #calibration: readonly RequestTrace[];
  readonly #missesAllowed: number;
  readonly #options: MarginOptions;
  /** Adjacent margins often have the same plan. */
  readonly #known = new Map<string, boolean>();
  /** The plan of the largest margin that is known to be too small. */
  #tooSmall: MarginPlan;
  /**
   * The cheapest plan that holds, among margins at which a plan that does not hold is even cheaper.
   */
  #fallback: MarginPlan | null = null;

  constructor(
    problem: ProvisioningProblem,
    samples: readonly RequestTrace[],
    calibration: readonly RequestTrace[],
    options: MarginOptions,
  ) {
    this.#problem = problem;
    this.#samples = samples;
    this.#calibration = calibration;
    this.#missesAllowed = Math.floor((1 - MET_RATIO) * calibration.length + 1e-9);
    this.#options = options;
    this.#tooSmall = this.#plan(0, { isProbe: true });
  }

  search(): MarginPlan {
    let steps = 0;
    let found: MarginPlan | null = this.#tooSmall;
    if (found.configuration !== null && !this.#holds(found)) ({ steps, found } = this.#next(0));
    while (found !== null) {
      const proven = this.#proven(found);
      if (proven.configuration === null || this.#holds(proven)) return this.#cheapest(proven);
      const kept = { ...found, lowerBound: proven.lowerBound };
      // At equal cost, a plan that holds is as good as proven.
      if (this.#costOf(found) <= this.#costOf(proven)) return this.#cheapest(kept);
      // The whole limit finds a cheaper plan for the same margin, which does not hold.
      if (this.#holds(found)) this.#keep(kept);
      this.#tooSmall = proven;
      ({ steps, found } = this.#next(steps));
    }
    return this.#fallback ?? this.#tooSmall;
  }

  /** The least margin above `tooFew` whose plan holds, by probes; null if none does. */
  #next(tooFew: number): { readonly steps: number; readonly found: MarginPlan | null } {
    let best: MarginPlan | null = null;
    let low = tooFew;
    let high = MOST_STEPS + 1;
    // Doubles first, since small margins are likely, then bisects.
    for (let steps = 1; high - low > 1; steps = nextSteps(low, high, best !== null)) {
      if (steps <= low) continue;
      // A plan with more margin serves with less, and one with less margin costs no more.
      const { lowerBound } = this.#tooSmall;
      const known = { configuration: best?.configuration ?? null, lowerBound };
      const plan = this.#plan(steps, { isProbe: true, known });
      if (plan.configuration !== null && !this.#holds(plan)) {
        low = steps;
        this.#tooSmall = plan;
        continue;
      }
      if (plan.configuration !== null) best = plan;
      high = steps;
    }
    return { steps: high, found: best };
  }

  /** The same margin with the whole limit, unless the plan is known to be the cheapest. */
  #proven(plan: MarginPlan): MarginPlan {
    const { configuration, lowerBound, margin } = plan;
    const isProven = lowerBound >= this.#costOf(plan);
    if (isProven || this.#options.refine === "none") return plan;
    const steps = Math.round(margin / STEP);
    return this.#plan(steps, { isProbe: false, known: { configuration, lowerBound } });
  }

  #keep(plan: MarginPlan): void {
    if (this.#fallback !== null && this.#costOf(this.#fallback) <= this.#costOf(plan)) return;
    this.#fallback = plan;
  }

  #cheapest(plan: MarginPlan): MarginPlan {
    this.#keep(plan);
    return this.#fallback ?? plan;
  }

  #costOf({ configuration }: MarginPlan): number {
    return configuration === null ? Number.POSITIVE_INFINITY : costOf(this.#problem, configuration);
  }

  #plan(
    steps: number,
    { isProbe, known }: { readonly isProbe: boolean; readonly known?: ProvisionOptions["known"] },
  ): MarginPlan {
    const part = isProbe ? PROBE_PART : 1;
    return planWithMargin(this.#problem, this.#samples, steps * STEP, {
      ...this.#options,
      queryLimit: this.#options.queryLimit / part,
      ...(known === undefined ? {} : { known }),
    });
  }

  #holds({ configuration }: MarginPlan): boolean {
    if (configuration === null) return false;
    const key = JSON.stringify(configuration);
    const found = this.#known.get(key) ?? this.#isMet(configuration);
    this.#known.set(key, found);
    return found;
  }

  #isMet(configuration: Configuration): boolean {
    const { traces, met } = judge(
      this.#problem,
      configuration,
      this.#calibration,
      this.#missesAllowed,
    );
    return traces - met <= this.#missesAllowed;
  }
}

function nextSteps(low: number, high: number, isBetween: boolean): number {
  const middle = (low + high) >>> 1;
  return isBetween ? middle : Math.min(2 * Math.max(1, low), middle);
}

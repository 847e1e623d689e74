/**
 * Levels of plans that have one variant of each task: how many instances of how many cores, in what
 * batches. Source: Themis §4, §5.
 */
import {
  type ScalePlan,
  type ThemisLevel,
  type ThemisOptions,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { ThemisFrame } from "../../../model/frames.ts";
import { type Judged, PlanJudge } from "./plan-judge.ts";
import { ThemisPlanner } from "./planner.ts";
import { isPlan, type NoScalingPlan, type ScalingPlan } from "./problem.ts";
import type { ScalingMode } from "./task-options.ts";
import type { VariantChoice } from "./variant-choices.ts";

/**
 * Quantiles that are tried where the policy leaves it to us, the lowest first: plans for it have
 * the fewest cores.
 */
const QUANTILES = [0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999];
/**
 * Part of the ceiling on violations that a plan may use on the trace that chooses it, since other
 * traffic may be worse.
 */
const USED_CEILING = 0.9;
/** A plan as it was found. */
export interface Found {
  readonly answer: ScalingPlan | NoScalingPlan;
  readonly quantile: number | null;
  /** Plans that were simulated for it. */
  readonly evaluations: number;
}

type FoundPlan = Omit<Found, "evaluations">;

/** A plan that keeps the ceiling. */
interface KeptPlan extends Pick<Judged, "meanLatencyMs"> {
  readonly found: FoundPlan;
  readonly cost: number;
}

/** Less than the load, and the plan for that. */
export interface Carried {
  readonly qps: number;
  readonly found: Found;
}

/** Everything about plans of one choice; what it finds it keeps. */
export class ChoiceLevels {
  readonly planner: ThemisPlanner;
  readonly choice: VariantChoice;
  readonly #frame: ThemisFrame;
  readonly #judge: PlanJudge;
  readonly #limit: number;
  /** One instance for each task. */
  readonly #single: ScalingMode;
  #evaluations = 0;

  constructor(choice: VariantChoice) {
    const { frame } = choice;
    this.choice = choice;
    this.#frame = frame;
    this.planner = new ThemisPlanner(frame);
    this.#judge = new PlanJudge(frame);
    this.#single = { kind: "vertical", instances: frame.tasks.map(() => 1) };
    this.#limit = USED_CEILING * violationCeiling(frame.slo);
  }

  /** The plan that is to be followed at a load, were these the variants. */
  wanted(loadQps: number): Found {
    this.#evaluations = 0;
    const found = this.#wanted(loadQps, this.#frame.policy.scaling);
    return { ...found, evaluations: this.#evaluations };
  }

  /** No plan of these variants for the load costs less; Infinity where there is none. */
  leastCost(loadQps: number): number {
    const { queueing, quantile, scaling } = this.#frame.policy;
    if (scaling !== "joint") return 0;
    const least = queueing === "paper" ? null : quantile === "auto" ? 0 : quantile;
    const plan = this.planner.find(loadQps, { kind: "joint" }, least);
    return plan?.cost ?? Number.POSITIVE_INFINITY;
  }

  /** Returns the simulated figures of a plan, or null if the pools have no room for it. */
  judge({ answer }: Found, loadQps: number): Judged | null {
    return this.#fits(answer) ? this.#judge.judge(answer.stages, loadQps) : null;
  }

  /** Whether a plan leaves as much of the ceiling as plans are to, where they are held to it. */
  keeps(violationRate: number): boolean {
    const { queueing, quantile } = this.#frame.policy;
    return queueing === "paper" || quantile !== "auto" || violationRate <= this.#limit;
  }

  /**
   * The level with a plan that was found for its load, or for less where the pools have no room for
   * one.
   * @param carried what they do have room for; left out where it is the load.
   */
  levelOf(loadQps: number, wanted: Found, carried: Carried | null): ThemisLevel {
    const { solver, queueing } = this.#frame.policy;
    // The plans beside the one that is followed leave as much room as that, so that they compare.
    const { quantile } = wanted;
    const horizontal = this.planner.find(loadQps, { kind: "horizontal" }, quantile);
    const vertical = this.planner.find(loadQps, this.#single, quantile);
    const free = this.planner.find(loadQps, { kind: "joint" }, quantile);
    // Where machines are tight, the search for what fits may end before it is through.
    const joint = cheapest([free, horizontal, vertical]);
    const { qps, found } = carried ?? { qps: loadQps, found: wanted };
    const isFeasible = carried === null;
    if (!isPlan(found.answer)) throw new RangeError("a pipeline has a plan for some load");
    return {
      loadQps,
      feasible: isFeasible,
      capacityQps: qps,
      horizontal: horizontal && this.#judged(horizontal, loadQps),
      vertical: vertical && this.#judged(vertical, loadQps),
      joint: joint && this.#judged(joint, loadQps),
      steady: this.#judged(found.answer, qps),
      solve: {
        method: solver === "paper" ? "dynamic programmes" : `exact, ${queueing} queueing`,
        status: isFeasible ? (solver === "paper" ? "feasible" : "optimal") : "infeasible",
        quantile: found.quantile,
        bindingTask: isPlan(wanted.answer) ? null : wanted.answer.bindingStage,
        evaluations: wanted.evaluations + (carried?.found.evaluations ?? 0),
      },
    };
  }

  fits(found: Found): boolean {
    return this.#fits(found.answer);
  }

  /** What random arrivals make of a plan of these variants. */
  judged(plan: ScalePlan, qps: number): ScalePlan {
    return { ...plan, expected: this.#judge.judge(plan.stages, qps).expected };
  }

  #fits(answer: ScalingPlan | NoScalingPlan): answer is ScalingPlan {
    return isPlan(answer) && this.planner.fits(answer);
  }

  /** The plan that is followed. */
  #wanted(loadQps: number, scaling: ThemisOptions["scaling"]): FoundPlan {
    if (scaling === "joint") return this.#found(loadQps, { kind: "joint" });
    if (scaling === "vertical") return this.#found(loadQps, this.#single);
    const horizontal = this.#found(loadQps, { kind: "horizontal" });
    if (scaling === "horizontal" || this.#fits(horizontal.answer)) return horizontal;
    // Themis serves with more cores what instances of one are too slow for.
    const vertical = this.#found(loadQps, this.#single);
    return this.#fits(vertical.answer) ? vertical : this.#found(loadQps, { kind: "joint" });
  }

  /**
   * The plan for a mode that keeps the ceiling at the least cost, which the lowest quantile has
   * whose plan keeps it; of the plans of higher quantiles that cost no more, the one with the
   * lowest mean latency. If none keeps the ceiling, the last that there is.
   */
  #found(loadQps: number, mode: ScalingMode): FoundPlan {
    const { queueing, quantile } = this.#frame.policy;
    if (queueing === "paper") return this.#at(loadQps, mode, null);
    if (quantile !== "auto") return this.#at(loadQps, mode, quantile);
    let last: FoundPlan | null = null;
    let kept: KeptPlan | null = null;
    let tried = "";
    for (const one of QUANTILES) {
      const found = this.#at(loadQps, mode, one);
      // Those with more room have more cores still.
      if (!this.#fits(found.answer)) break;
      const { stages, cost } = found.answer;
      if (kept !== null && cost > kept.cost) break;
      last = found;
      const key = JSON.stringify(stages);
      if (key === tried) continue;
      tried = key;
      this.#evaluations++;
      if (!this.#judge.keeps(this.#limit, stages, loadQps)) continue;
      const { meanLatencyMs } = this.#judge.judge(stages, loadQps);
      if (kept === null || meanLatencyMs < kept.meanLatencyMs) {
        kept = { found, cost, meanLatencyMs };
      }
    }
    return kept?.found ?? last ?? this.#at(loadQps, mode, 0);
  }

  #at(loadQps: number, mode: ScalingMode, quantile: number | null): FoundPlan {
    return { answer: this.planner.plan(loadQps, mode, quantile), quantile };
  }

  #judged({ cores, latencyMs, stages }: ScalingPlan, loadQps: number): ScalePlan {
    const { variants } = this.choice;
    const { expected } = this.#judge.judge(stages, loadQps);
    const chosen = stages.map((stage, task) => {
      const variant = variants[task] ?? 0;
      return variant === 0 ? stage : { ...stage, variant };
    });
    return { cores, latencyMs, stages: chosen, expected };
  }
}

/** Returns the fastest of plans of equal cost by the model, and the first of equal ones. */
function cheapest(plans: readonly (ScalingPlan | null)[]): ScalingPlan | null {
  const found = plans.filter((plan) => plan !== null);
  const isBetter = (one: ScalingPlan, other: ScalingPlan): boolean =>
    (one.cost - other.cost || one.latencyMs - other.latencyMs) < 0;
  return found.reduce<ScalingPlan | null>(
    (best, plan) => (best === null || isBetter(plan, best) ? plan : best),
    null,
  );
}

/**
 * Levels of plans with one variant of each task: how many instances of how many cores, in what
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

/** Quantiles to try with `quantile: auto`, lowest first: its plans have the fewest cores. */
const QUANTILES = [0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999];
/**
 * Fraction of the violation ceiling that a plan may use on the trace that chooses it, since other
 * traffic may be worse.
 */
const USED_CEILING = 0.9;
/** A plan as found. */
export interface Found {
  readonly answer: ScalingPlan | NoScalingPlan;
  readonly quantile: number | null;
  /** Number of plans simulated for it. */
  readonly evaluations: number;
}

type FoundPlan = Omit<Found, "evaluations">;

/** A plan that keeps the ceiling. */
interface KeptPlan extends Pick<Judged, "meanLatencyMs"> {
  readonly found: FoundPlan;
  readonly cost: number;
}

/** Less than the load, and the plan for it. */
export interface Carried {
  readonly qps: number;
  readonly found: Found;
}

/** Plans of one choice of variants; caches its results. */
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

  /** Returns the plan to follow at a load with these variants. */
  wanted(loadQps: number): Found {
    this.#evaluations = 0;
    const found = this.#wanted(loadQps, this.#frame.policy.scaling);
    return { ...found, evaluations: this.#evaluations };
  }

  /**
   * Lower bound on the cost of plans of these variants for the load; Infinity if there is no plan.
   */
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

  /** Returns whether a plan keeps the required reserve of the ceiling, if a ceiling applies. */
  keeps(violationRate: number): boolean {
    const { queueing, quantile } = this.#frame.policy;
    return queueing === "paper" || quantile !== "auto" || violationRate <= this.#limit;
  }

  /**
   * Returns the level with a plan for its load, or for less if the pools have no room for one.
   * @param carried the load they have room for; left out if it is the level's.
   */
  levelOf(loadQps: number, wanted: Found, carried: Carried | null): ThemisLevel {
    const { solver, queueing } = this.#frame.policy;
    // The other plans use the same quantile as the followed plan, so that they are comparable.
    const { quantile } = wanted;
    const horizontal = this.planner.find(loadQps, { kind: "horizontal" }, quantile);
    const vertical = this.planner.find(loadQps, this.#single, quantile);
    const free = this.planner.find(loadQps, { kind: "joint" }, quantile);
    // If machines are scarce, the search for a fitting plan may end early.
    const joint = cheapest([free, horizontal, vertical]);
    const { qps, found } = carried ?? { qps: loadQps, found: wanted };
    const isFeasible = carried === null;
    if (!isPlan(found.answer)) throw new RangeError("no plan for the load");
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

  /** Adds the figures of a plan of these variants under random arrivals. */
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
    // Themis serves with more cores if instances of one core are too slow.
    const vertical = this.#found(loadQps, this.#single);
    return this.#fits(vertical.answer) ? vertical : this.#found(loadQps, { kind: "joint" });
  }

  /**
   * Returns the plan for a mode that keeps the ceiling at the least cost, found with the lowest
   * quantile whose plan keeps it; of the plans of higher quantiles that cost no more, the one with
   * the lowest mean latency. If none keeps the ceiling, the last one found.
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
      // Plans of higher quantiles have even more cores.
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

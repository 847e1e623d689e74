/**
 * Themis: how many instances of how many cores each task of a pipeline has, in what batches, and
 * how that changes at once. Source: Themis §4, §5.
 */
import {
  type ScalePlan,
  type ThemisLevel,
  type ThemisOptions,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { ThemisFrame } from "../../../model/frames.ts";
import { themisFrame } from "./frame.ts";
import { themisMistakes } from "./mistakes.ts";
import { PlanJudge } from "./plan-judge.ts";
import { ThemisPlanner } from "./planner.ts";
import { isPlan, type NoScalingPlan, type ScalingPlan } from "./problem.ts";
import type { ScalingMode } from "./task-options.ts";
import { transitionsOf } from "./transitions.ts";

export const themis = {
  mistakes: themisMistakes,
  frame: themisFrame,
  /**
   * Plans for loads, one after the other as they are asked for. The same frame gives the same
   * levels, bit for bit, in any order.
   */
  open: (frame: ThemisFrame): ThemisLevels => new ThemisLevels(frame),
  /** Whether some load has a plan in the pool: where nothing waits for anything. */
  isServable(frame: ThemisFrame): boolean {
    const planner = new ThemisPlanner(frame);
    const answer = planner.alone(frame.policy.scaling === "horizontal" ? "horizontal" : "joint");
    return isPlan(answer) && planner.fits(answer);
  },
  /** Recomputes what a level's plans promise, from the bundle alone. */
  expectedOf: (frame: ThemisFrame, level: ThemisLevel): PromisedPlans => {
    const judge = new PlanJudge(frame);
    const judged = (plan: ScalePlan, qps: number): ScalePlan => ({
      ...plan,
      expected: judge.judge(plan.stages, qps),
    });
    const at = (plan: ScalePlan | null): ScalePlan | null =>
      plan === null ? null : judged(plan, level.loadQps);
    const { horizontal, vertical, joint, steady, capacityQps } = level;
    return {
      horizontal: at(horizontal),
      vertical: at(vertical),
      joint: at(joint),
      steady: judged(steady, capacityQps),
    };
  },
};

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
/** If the pool cannot carry a load, loads are tried that are lower by this factor each. */
const LOWER = 0.98;
const MOST_LOWERINGS = 1000;

/** A plan as it was found. */
interface Found {
  readonly answer: ScalingPlan | NoScalingPlan;
  readonly quantile: number | null;
}

/** What a level states of its plans. */
export type PromisedPlans = Pick<ThemisLevel, "horizontal" | "vertical" | "joint" | "steady">;

class ThemisLevels {
  readonly #frame: ThemisFrame;
  readonly #planner: ThemisPlanner;
  readonly #judge: PlanJudge;
  readonly #limit: number;
  /** One instance for each task. */
  readonly #single: ScalingMode;
  #evaluations = 0;

  constructor(frame: ThemisFrame) {
    this.#frame = frame;
    this.#planner = new ThemisPlanner(frame);
    this.#judge = new PlanJudge(frame);
    this.#single = { kind: "vertical", instances: frame.tasks.map(() => 1) };
    this.#limit = USED_CEILING * violationCeiling(frame.slo);
  }

  scaleLevel(loadQps: number): ThemisLevel {
    this.#evaluations = 0;
    const { scaling, solver, queueing } = this.#frame.policy;
    const wanted = this.#wanted(loadQps, scaling);
    // The plans beside the one that is followed leave as much room as that, so that they compare.
    const { quantile } = wanted;
    const horizontal = this.#planner.find(loadQps, { kind: "horizontal" }, quantile);
    const vertical = this.#planner.find(loadQps, this.#single, quantile);
    const free = this.#planner.find(loadQps, { kind: "joint" }, quantile);
    // Where machines are tight, the search for what fits may end before it is through.
    const joint = cheapest([free, horizontal, vertical]);
    const isFeasible = this.#fits(wanted.answer);
    const { qps, found } = isFeasible
      ? { qps: loadQps, found: wanted }
      : this.#carried(loadQps, scaling);
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
        evaluations: this.#evaluations,
      },
    };
  }

  transitions(levels: readonly ThemisLevel[]): ReturnType<typeof transitionsOf> {
    const { scaling, extraCores } = this.#frame.policy;
    return transitionsOf(this.#planner, levels, {
      extraCores,
      isVerticalOff: scaling === "horizontal",
    });
  }

  #fits(answer: ScalingPlan | NoScalingPlan): answer is ScalingPlan {
    return isPlan(answer) && this.#planner.fits(answer);
  }

  /** The plan that is followed. */
  #wanted(loadQps: number, scaling: ThemisOptions["scaling"]): Found {
    if (scaling === "joint") return this.#found(loadQps, { kind: "joint" });
    if (scaling === "vertical") return this.#found(loadQps, this.#single);
    const horizontal = this.#found(loadQps, { kind: "horizontal" });
    if (scaling === "horizontal" || this.#fits(horizontal.answer)) return horizontal;
    // Themis serves with more cores what instances of one are too slow for.
    const vertical = this.#found(loadQps, this.#single);
    return this.#fits(vertical.answer) ? vertical : this.#found(loadQps, { kind: "joint" });
  }

  /**
   * The plan for a mode, at the lowest quantile whose plan keeps the ceiling; if none does, the
   * last that there is.
   */
  #found(loadQps: number, mode: ScalingMode): Found {
    const { queueing, quantile } = this.#frame.policy;
    if (queueing === "paper") return this.#at(loadQps, mode, null);
    if (quantile !== "auto") return this.#at(loadQps, mode, quantile);
    let last: Found | null = null;
    let tried = "";
    for (const one of QUANTILES) {
      const found = this.#at(loadQps, mode, one);
      // Those with more room have more cores still.
      if (!this.#fits(found.answer)) return last ?? found;
      last = found;
      const { stages } = found.answer;
      const key = JSON.stringify(stages);
      if (key === tried) continue;
      tried = key;
      this.#evaluations++;
      if (this.#judge.keeps(this.#limit, stages, loadQps)) break;
    }
    return last ?? this.#at(loadQps, mode, 0);
  }

  #at(loadQps: number, mode: ScalingMode, quantile: number | null): Found {
    return { answer: this.#planner.plan(loadQps, mode, quantile), quantile };
  }

  /**
   * The largest load below one that has a plan in the pool, about. Whether there is one is not
   * monotone in the load, so they are tried one by one.
   */
  #carried(
    loadQps: number,
    scaling: ThemisOptions["scaling"],
  ): { readonly qps: number; readonly found: Found } {
    let qps = loadQps;
    for (let lowering = 0; lowering < MOST_LOWERINGS; lowering++) {
      qps *= LOWER;
      const found = this.#wanted(qps, scaling);
      if (this.#fits(found.answer)) return { qps, found };
    }
    throw new RangeError("a pipeline has a plan for a load that is low enough");
  }

  #judged({ cores, latencyMs, stages }: ScalingPlan, loadQps: number): ScalePlan {
    return { cores, latencyMs, stages, expected: this.#judge.judge(stages, loadQps) };
  }
}

/** Of equal plans the first. */
function cheapest(plans: readonly (ScalingPlan | null)[]): ScalingPlan | null {
  const found = plans.filter((plan) => plan !== null);
  return found.reduce<ScalingPlan | null>(
    (best, plan) => (best === null || plan.cores < best.cores ? plan : best),
    null,
  );
}

/**
 * Themis: the variant of each task of a pipeline, the number of its instances, their cores and
 * batches, and immediate changes of these. Source: Themis §4, §5; the choice among variants and
 * pools is ours.
 */
import type { ScalePlan, ThemisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { ThemisFrame } from "../../../model/frames.ts";
import { type Carried, ChoiceLevels, type Found } from "./choice-levels.ts";
import { themisFrame } from "./frame.ts";
import { themisMistakes } from "./mistakes.ts";
import type { Judged } from "./plan-judge.ts";
import { ThemisPlanner } from "./planner.ts";
import { isPlan } from "./problem.ts";
import { type ScaledLoad, transitionsOf } from "./transitions.ts";
import { type VariantChoice, variantChoices } from "./variant-choices.ts";

export const themis = {
  name: "themis",
  mistakes: themisMistakes,
  frame: themisFrame,
  /** Levels are independent of each other; transitions are between them all. */
  open: (frame: ThemisFrame): ThemisLevels => new ThemisLevels(frame),
  /** Returns whether some load has a plan in the pools, without any waiting. */
  isServable(frame: ThemisFrame): boolean {
    const kind = frame.policy.scaling === "horizontal" ? "horizontal" : "joint";
    return variantChoices(frame).some((choice) => {
      const planner = new ThemisPlanner(choice.frame);
      const answer = planner.alone(kind);
      return isPlan(answer) && planner.fits(answer);
    });
  },
  /** Recomputes the promises of a level's plans, from the bundle alone. */
  expectedOf: (frame: ThemisFrame, level: ThemisLevel): PromisedPlans => {
    const levels = new ThemisLevels(frame);
    const at = (plan: ScalePlan | null): ScalePlan | null =>
      plan === null ? null : levels.judged(plan, level.loadQps);
    const { horizontal, vertical, joint, steady, capacityQps } = level;
    return {
      horizontal: at(horizontal),
      vertical: at(vertical),
      joint: at(joint),
      steady: levels.judged(steady, capacityQps),
    };
  },
};

/** If the pools cannot carry a load, loads that are lower by this factor each are tried. */
const LOWER = 0.98;
const MOST_LOWERINGS = 1000;

/** Stated figures of a level's plans. */
export type PromisedPlans = Pick<ThemisLevel, "horizontal" | "vertical" | "joint" | "steady">;

/** A plan, and the levels of its variants. */
interface Chosen {
  readonly levels: ChoiceLevels;
  readonly found: Found;
  readonly judged: Judged;
}

/**
 * For each load the most accurate variants whose plan fits into the pools and keeps the ceiling on
 * violations; of equally accurate variants and pools, those whose plan costs least, and at the same
 * cost the ones with the lowest mean latency.
 */
class ThemisLevels {
  readonly #choices: readonly VariantChoice[];
  readonly #opened = new Map<VariantChoice, ChoiceLevels>();

  constructor(frame: ThemisFrame) {
    this.#choices = variantChoices(frame);
  }

  scaleLevel(loadQps: number): ThemisLevel {
    const [only, second] = this.#choices;
    if (only !== undefined && second === undefined) return this.#levelOfOnly(only, loadQps);
    const chosen = this.#chosen(loadQps);
    if (chosen !== null) return chosen.levels.levelOf(loadQps, chosen.found, null);
    const { carried, levels } = this.#carried(loadQps);
    return levels.levelOf(loadQps, levels.wanted(loadQps), carried);
  }

  transitions(levels: readonly ScaledLoad[]): ReturnType<typeof transitionsOf> {
    const [first] = this.#choices;
    if (first === undefined) throw new RangeError("task without a variant");
    const { scaling, extraCores } = first.frame.policy;
    const planners = levels.map(({ steady }) => this.#levelsOf(steady).planner);
    return transitionsOf(planners, levels, { extraCores, isVerticalOff: scaling === "horizontal" });
  }

  judged(plan: ScalePlan, qps: number): ScalePlan {
    return this.#levelsOf(plan).judged(plan, qps);
  }

  #levelOfOnly(choice: VariantChoice, loadQps: number): ThemisLevel {
    const levels = this.#open(choice);
    const wanted = levels.wanted(loadQps);
    if (levels.fits(wanted)) return levels.levelOf(loadQps, wanted, null);
    return levels.levelOf(loadQps, wanted, this.#carried(loadQps).carried);
  }

  /**
   * Null if no plan fits into the pools. If no plan that fits keeps the ceiling, the one with the
   * fewest violations.
   */
  #chosen(loadQps: number): Chosen | null {
    let least: Chosen | null = null;
    let best: (Chosen & { readonly accuracy: number }) | null = null;
    for (const choice of this.#choices) {
      if (best !== null && choice.accuracy < best.accuracy) break;
      const levels = this.#open(choice);
      if (best !== null && levels.leastCost(loadQps) > costOf(best)) continue;
      const found = levels.wanted(loadQps);
      const judged = levels.judge(found, loadQps);
      if (judged === null) continue;
      const chosen = { levels, found, judged, accuracy: choice.accuracy };
      const { violationRate } = judged.expected;
      if (least === null || violationRate < least.judged.expected.violationRate) least = chosen;
      if (!levels.keeps(violationRate)) continue;
      if (best === null || isBetter(chosen, best)) best = chosen;
    }
    return best ?? least;
  }

  /**
   * Returns approximately the largest lower load that has a plan in the pools. Feasibility is not
   * monotone in the load, so loads are tried one by one.
   */
  #carried(loadQps: number): { readonly carried: Carried; readonly levels: ChoiceLevels } {
    let qps = loadQps;
    for (let lowering = 0; lowering < MOST_LOWERINGS; lowering++) {
      qps *= LOWER;
      const chosen = this.#chosen(qps);
      if (chosen === null) continue;
      const { levels, found } = chosen;
      return { carried: { qps, found }, levels };
    }
    throw new RangeError("no plan even for a low load");
  }

  #levelsOf({ stages }: Pick<ScalePlan, "stages">): ChoiceLevels {
    const choice = this.#choices.find(({ variants }) =>
      variants.every((variant, task) => variant === (stages[task]?.variant ?? 0)),
    );
    if (choice === undefined) throw new RangeError("plan without variants");
    return this.#open(choice);
  }

  #open(choice: VariantChoice): ChoiceLevels {
    const levels = this.#opened.get(choice) ?? new ChoiceLevels(choice);
    this.#opened.set(choice, levels);
    return levels;
  }
}

/**
 * Returns whether a plan costs less than another of the same accuracy, or as much and is faster.
 */
function isBetter(one: Chosen, other: Chosen): boolean {
  const [cost, otherCost] = [costOf(one), costOf(other)];
  if (cost !== otherCost) return cost < otherCost;
  return one.judged.meanLatencyMs < other.judged.meanLatencyMs;
}

function costOf({ found }: Pick<Chosen, "found">): number {
  return isPlan(found.answer) ? found.answer.cost : Number.POSITIVE_INFINITY;
}

/** Provisioned tasks under common autoscalers, as shipped or tuned in hindsight. */
import type {
  InferlineBundle,
  InferlineLevel,
  StagePlan,
} from "stratagem-runtime/internal/bundle/schema";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { initialQpsOf } from "../../simulate/graph/arriving-requests.ts";
import {
  beginningWith,
  type ScaledLevels,
  shippedOn,
  tunedOn,
} from "../../simulate/graph/scalers/scaled-levels.ts";
import { openScalers, SCALERS } from "../../simulate/graph/scalers/scaler-settings.ts";
import type { ScalerName } from "../../simulate/graph/scalers/scalers.ts";
import { StageWatch } from "../../simulate/graph/scalers/stage-watch.ts";
import type { PlannedSetting, TriedSetting } from "../../simulate/graph/scalers/tune-scaler.ts";
import { ScaledStages, stageFactsOf } from "./simulate/scaled-stages.ts";
import {
  type InferlineSimulationOptions,
  type InferlineSimulationResult,
  simulateInferline,
} from "./simulate/simulate.ts";

type Asked = Omit<InferlineSimulationOptions, "tuner" | "watch" | "level">;
type Start = Pick<Asked, "arrivals">;

/**
 * Serves requests with the replicas that an autoscaler wants, as `simulateInferline` does with
 * those of the bundle's tuner.
 *
 * A plan of the bundle provides what an autoscaler does not choose: hardware and batches of every
 * stage, and the ready replicas for the load at time 0.
 */
export function simulateScaled(
  bundle: InferlineBundle,
  options: Asked,
  name: ScalerName,
  { plan, setting }: PlannedSetting,
): InferlineSimulationResult {
  const level = startLevel(bundle, options, plan);
  const policy = { ...bundle.policy, tuner: "none" } as const;
  const scaled: InferlineBundle = { ...bundle, policy, levels: [level] };
  const watch = new StageWatch(bundle.tasks.length);
  const scalers = openScalers(setting, stageFactsOf(scaled, level));
  const { periodMs } = SCALERS[name];
  const tuner = new ScaledStages(scaled, level, scalers, periodMs, watch);
  return simulateInferline(scaled, { ...options, tuner, watch, level: 0 });
}

/** Returns the setting as its project ships it, with the plan that the bundle starts from. */
export function shippedScaler(
  bundle: InferlineBundle,
  options: Start,
  name: ScalerName,
): PlannedSetting {
  return shippedOn(levelsOf(bundle, options), name);
}

/**
 * Tries all settings on the same requests; the best first.
 * @param ceiling on violations; default: that of the SLO.
 */
export function tunedScaler(
  bundle: InferlineBundle,
  options: Asked,
  name: ScalerName,
  ceiling?: number,
): readonly TriedSetting[] {
  const shapeOf = ({ plan }: InferlineLevel) =>
    JSON.stringify(plan.stages.map(({ pool, batch }) => [pool, batch]));
  const measure = (plan: number, setting: PlannedSetting["setting"]) => {
    const ran = simulateScaled(bundle, options, name, { plan, setting });
    return { violationRate: ran.violationRate, cost: ran.costPerHour };
  };
  return tunedOn(levelsOf(bundle, options), name, { shapeOf, measure }, ceiling);
}

/** A level with replicas for the load at time 0. */
function startLevel(bundle: InferlineBundle, options: Start, plan: number): InferlineLevel {
  const { level, countOf } = beginningWith(levelsOf(bundle, options), plan);
  const stages = level.plan.stages.map((stage): StagePlan => {
    return { ...stage, replicas: countOf(stage.replicas) };
  });
  return { ...level, plan: { ...level.plan, stages } };
}

function levelsOf(bundle: InferlineBundle, { arrivals }: Start): ScaledLevels<InferlineLevel> {
  return { bundle, first: levelForLoad(bundle.levels, initialQpsOf(arrivals)) };
}

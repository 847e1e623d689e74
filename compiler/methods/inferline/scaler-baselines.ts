/** Provisioned tasks under the autoscalers that people run, as shipped or tuned in hindsight. */
import {
  type InferlineBundle,
  type InferlineLevel,
  type StagePlan,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { initialQpsOf } from "../../simulate/graph/arriving-requests.ts";
import { partFor, triedLevels } from "../../simulate/graph/scalers/plan-shapes.ts";
import {
  openScalers,
  SCALERS,
  shippedSetting,
} from "../../simulate/graph/scalers/scaler-settings.ts";
import type { ScalerName } from "../../simulate/graph/scalers/scalers.ts";
import { StageWatch } from "../../simulate/graph/scalers/stage-watch.ts";
import {
  type PlannedSetting,
  type TriedSetting,
  tuneScaler,
} from "../../simulate/graph/scalers/tune-scaler.ts";
import { ScaledStages, stageFactsOf } from "./simulate/scaled-stages.ts";
import {
  type InferlineSimulationOptions,
  type InferlineSimulationResult,
  simulateInferline,
} from "./simulate/simulate.ts";

type Asked = Omit<InferlineSimulationOptions, "tuner" | "watch" | "level">;

/**
 * Serves requests with the replicas that an autoscaler wants, as `simulateInferline` does with
 * those of the bundle's tuner.
 *
 * What an autoscaler does not choose, it is given by a plan of the bundle: hardware and batches of
 * every stage, and replicas for the load at time 0, which are up.
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

/** As its project ships it, with the plan that the bundle itself begins with. */
export function shippedScaler(
  bundle: InferlineBundle,
  options: Pick<Asked, "arrivals">,
  name: ScalerName,
): PlannedSetting {
  const plan = firstLevel(bundle, options);
  return { plan, setting: shippedSetting(name, bundle.tasks.length) };
}

/**
 * All that hindsight tries, on the requests themselves; the best first.
 * @param ceiling on violations that is to be kept; left out, that of the SLO.
 */
export function tunedScaler(
  bundle: InferlineBundle,
  options: Asked,
  name: ScalerName,
  ceiling = violationCeiling(bundle.slo),
): readonly TriedSetting[] {
  const shapes = bundle.levels.map(({ plan }) =>
    JSON.stringify(plan.stages.map(({ pool, batch }) => [pool, batch])),
  );
  return tuneScaler({
    name,
    stageCount: bundle.tasks.length,
    plans: triedLevels(shapes, firstLevel(bundle, options)),
    ceiling,
    measure(plan, setting) {
      const { violationRate, costPerHour } = simulateScaled(bundle, options, name, {
        plan,
        setting,
      });
      return { violationRate, cost: costPerHour };
    },
  });
}

/** A level with replicas for the load at time 0. */
function startLevel(
  bundle: InferlineBundle,
  options: Pick<Asked, "arrivals">,
  plan: number,
): InferlineLevel {
  const level = bundle.levels[plan];
  assert(level !== undefined, "a plan is that of a level");
  const part = partFor(bundle.levels, firstLevel(bundle, options), plan);
  const stages = level.plan.stages.map(
    (stage): StagePlan => ({ ...stage, replicas: Math.ceil(stage.replicas * part) }),
  );
  return { ...level, plan: { ...level.plan, stages } };
}

function firstLevel({ levels }: InferlineBundle, { arrivals }: Pick<Asked, "arrivals">): number {
  return levelForLoad(levels, initialQpsOf(arrivals));
}

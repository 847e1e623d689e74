/** Scaled tasks under common autoscalers, as shipped or tuned in hindsight. */
import type {
  ScaledStage,
  ThemisBundle,
  ThemisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { firstLevel } from "stratagem-runtime/internal/methods/themis/core/controller";
import { TRANSITION_CELLS } from "stratagem-runtime/internal/methods/themis/core/shape";
import { themisDispatcherOf } from "stratagem-runtime/internal/methods/themis/core/themis-dispatcher";
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
import { instanceFactsOf, ScaledInstances } from "./simulate/scaled-instances.ts";
import {
  simulateThemis,
  type ThemisSimulationOptions,
  type ThemisSimulationResult,
} from "./simulate/simulate.ts";

type Asked = Omit<ThemisSimulationOptions, "level" | "dispatcherOf" | "watch" | "forecastByPoll">;
type Start = Pick<Asked, "arrivals" | "startLevel">;

/**
 * Serves requests with the instances that an autoscaler wants, as `simulateThemis` does with those
 * of the bundle's own rules.
 *
 * A plan of the bundle provides what an autoscaler does not choose: fixed cores and batches of
 * every instance, and the ready instances for the load at time 0.
 */
export function simulateScaledInstances(
  bundle: ThemisBundle,
  options: Asked,
  name: ScalerName,
  { plan, setting }: PlannedSetting,
): ThemisSimulationResult {
  const level = beginning(bundle, options, plan);
  const scaled = roomyBundle(bundle, level, SCALERS[name].periodMs);
  const watch = new StageWatch(bundle.tasks.length);
  const scalers = openScalers(setting, instanceFactsOf(bundle, level.steady));
  const controller = new ScaledInstances(bundle, level.steady, scalers, watch);
  const { startLevel: _, ...others } = options;
  return simulateThemis(scaled, {
    ...others,
    level: 0,
    watch,
    dispatcherOf: (own, given) => themisDispatcherOf(own, { ...given, controller }),
  });
}

/** Returns the setting as its project ships it, with the plan that the bundle starts from. */
export function shippedInstanceScaler(
  bundle: ThemisBundle,
  options: Start,
  name: ScalerName,
): PlannedSetting {
  return shippedOn(levelsOf(bundle, options), name);
}

/**
 * Tries all settings on the same requests; the best first. Cost is cores.
 * @param ceiling on violations; default: that of the SLO.
 */
export function tunedInstanceScaler(
  bundle: ThemisBundle,
  options: Asked,
  name: ScalerName,
  ceiling?: number,
): readonly TriedSetting[] {
  const shapeOf = ({ steady }: ThemisLevel) =>
    JSON.stringify(steady.stages.map(({ batch, cores }) => [batch, cores]));
  const measure = (plan: number, setting: PlannedSetting["setting"]) => {
    const ran = simulateScaledInstances(bundle, options, name, { plan, setting });
    return { violationRate: ran.violationRate, cost: ran.cores.mean };
  };
  return tunedOn(levelsOf(bundle, options), name, { shapeOf, measure }, ceiling);
}

/** A level with instances for the load at time 0. */
function beginning(bundle: ThemisBundle, options: Start, plan: number): ThemisLevel {
  const { level, countOf } = beginningWith(levelsOf(bundle, options), plan);
  const stages = level.steady.stages.map((stage): ScaledStage => {
    return { ...stage, instances: countOf(stage.instances) };
  });
  return { ...level, steady: { ...level.steady, stages } };
}

function levelsOf(
  bundle: ThemisBundle,
  { arrivals, startLevel }: Start,
): ScaledLevels<ThemisLevel> {
  return { bundle, first: startLevel ?? firstLevel(bundle, initialQpsOf(arrivals)) };
}

/**
 * A bundle with workers for as many instances of every task as the cores allow: the plan of a
 * level, and one that states the number.
 */
function roomyBundle(bundle: ThemisBundle, level: ThemisLevel, tickMs: number): ThemisBundle {
  const { pools } = bundle.cluster;
  const most = level.steady.stages.map((stage, task): ScaledStage => {
    const { pool = 0 } = bundle.tasks[task]?.variants[stage.variant ?? 0] ?? {};
    const { workers = 0, cores = null } = pools[pool] ?? {};
    return { ...stage, instances: Math.floor((workers * (cores ?? 1)) / stage.cores) };
  });
  const taskCount = bundle.tasks.length;
  const { paceLevels: _, ...others } = bundle;
  return {
    ...others,
    policy: { ...bundle.policy, tickMs, predictor: "last-max" },
    levels: [level, { ...level, steady: { ...level.steady, stages: most } }],
    transitions: {
      dtype: "uint16",
      shape: [2, 2, taskCount, TRANSITION_CELLS],
      data: new Uint16Array(2 * 2 * taskCount * TRANSITION_CELLS),
    },
  };
}

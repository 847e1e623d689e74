/** Scaled tasks under the autoscalers that people run, as shipped or tuned in hindsight. */
import {
  type ScaledStage,
  type ThemisBundle,
  type ThemisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { firstLevel } from "stratagem-runtime/internal/methods/themis/core/controller";
import { TRANSITION_CELLS } from "stratagem-runtime/internal/methods/themis/core/shape";
import { themisDispatcherOf } from "stratagem-runtime/internal/methods/themis/core/themis-dispatcher";
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
import { instanceFactsOf, ScaledInstances } from "./simulate/scaled-instances.ts";
import {
  simulateThemis,
  type ThemisSimulationOptions,
  type ThemisSimulationResult,
} from "./simulate/simulate.ts";

type Asked = Omit<ThemisSimulationOptions, "level" | "dispatcherOf" | "watch" | "forecastByLook">;
type Start = Pick<Asked, "arrivals" | "startLevel">;

/**
 * Serves requests with the instances that an autoscaler wants, as `simulateThemis` does with those
 * of the bundle's own rules.
 *
 * What an autoscaler does not choose, it is given by a plan of the bundle: cores and batches of
 * every instance, which stay, and instances for the load at time 0, which are up.
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

/** As its project ships it, with the plan that the bundle itself begins with. */
export function shippedInstanceScaler(
  bundle: ThemisBundle,
  options: Start,
  name: ScalerName,
): PlannedSetting {
  const setting = shippedSetting(name, bundle.tasks.length);
  return { plan: firstOf(bundle, options), setting };
}

/**
 * All that hindsight tries, on the requests themselves; the best first. Cost is cores.
 * @param ceiling on violations that is to be kept; left out, that of the SLO.
 */
export function tunedInstanceScaler(
  bundle: ThemisBundle,
  options: Asked,
  name: ScalerName,
  ceiling = violationCeiling(bundle.slo),
): readonly TriedSetting[] {
  const shapes = bundle.levels.map(({ steady }) =>
    JSON.stringify(steady.stages.map(({ batch, cores }) => [batch, cores])),
  );
  return tuneScaler({
    name,
    stageCount: bundle.tasks.length,
    plans: triedLevels(shapes, firstOf(bundle, options)),
    ceiling,
    measure(plan, setting) {
      const ran = simulateScaledInstances(bundle, options, name, { plan, setting });
      return { violationRate: ran.violationRate, cost: ran.cores.mean };
    },
  });
}

/** A level with instances for the load at time 0. */
function beginning(bundle: ThemisBundle, options: Start, plan: number): ThemisLevel {
  const level = bundle.levels[plan];
  assert(level !== undefined, "a plan is that of a level");
  const part = partFor(bundle.levels, firstOf(bundle, options), plan);
  const stages = level.steady.stages.map((stage): ScaledStage => {
    return { ...stage, instances: Math.ceil(stage.instances * part) };
  });
  return { ...level, steady: { ...level.steady, stages } };
}

function firstOf(bundle: ThemisBundle, { arrivals, startLevel }: Start): number {
  return startLevel ?? firstLevel(bundle, initialQpsOf(arrivals));
}

/**
 * A bundle in which there is room for as many instances of every task as the cores allow: the plan
 * of a level, and one that says so.
 */
function roomyBundle(bundle: ThemisBundle, level: ThemisLevel, tickMs: number): ThemisBundle {
  const { pools } = bundle.cluster;
  const most = level.steady.stages.map((stage, task): ScaledStage => {
    const { pool = 0 } = bundle.tasks[task]?.variants[stage.variant ?? 0] ?? {};
    const { workers = 0, cores = null } = pools[pool] ?? {};
    return { ...stage, instances: Math.floor((workers * (cores ?? 1)) / stage.cores) };
  });
  const taskCount = bundle.tasks.length;
  return {
    ...bundle,
    policy: { ...bundle.policy, tickMs, predictor: "last-max" },
    levels: [level, { ...level, steady: { ...level.steady, stages: most } }],
    transitions: {
      dtype: "uint16",
      shape: [2, 2, taskCount, TRANSITION_CELLS],
      data: new Uint16Array(2 * 2 * taskCount * TRANSITION_CELLS),
    },
  };
}

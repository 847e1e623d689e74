/** Autoscalers by name, and their instances for the stages of a pipeline. */
import { dynamo } from "./dynamo.ts";
import { hpa } from "./hpa.ts";
import { infaasStages } from "./infaas-stages.ts";
import { keda } from "./keda.ts";
import { kpa } from "./kpa.ts";
import { rayServe } from "./ray-serve.ts";
import type { Scaler, ScalerChoice, ScalerOptions, StageFacts, StageScaler } from "./scaler.ts";
import type { ScalerName } from "./scalers.ts";

export const SCALERS = {
  kpa,
  hpa,
  keda,
  "ray-serve": rayServe,
  dynamo,
  infaas: infaasStages,
} as const satisfies Readonly<Record<ScalerName, Scaler>>;

/** An autoscaler with all parameters chosen. */
export interface ScalerSetting {
  readonly choice: ScalerChoice;
  /** Per stage. */
  readonly targets: readonly number[];
}

/** Returns the setting as its project ships it. */
export function shippedSetting(name: ScalerName, stageCount: number): ScalerSetting {
  const { shipped, target } = SCALERS[name];
  return sameForAll(shipped, target, stageCount);
}

export function sameForAll(
  choice: ScalerChoice,
  target: number,
  stageCount: number,
): ScalerSetting {
  return { choice, targets: new Array<number>(stageCount).fill(target) };
}

/** Returns new autoscalers, one for each stage. */
export function openScalers(
  { choice, targets }: ScalerSetting,
  stages: readonly StageFacts[],
): StageScaler[] {
  return stages.map((facts, stage) => choice.open(facts, targets[stage] ?? Number.NaN));
}

/** Returns all parameters of a setting, as outputs print them; equal targets are printed once. */
export function settingParameters({ choice, targets }: ScalerSetting): ScalerOptions {
  const isSame = targets.every((target) => target === targets[0]);
  const target = isSame ? (targets[0] ?? Number.NaN) : targets.join("/");
  return { target, ...choice.options };
}

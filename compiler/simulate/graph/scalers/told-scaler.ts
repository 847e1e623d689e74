/** What `simulate` tells of an autoscaler that it has simulated. */
import type { ScalerOptions } from "./scaler.ts";
import { type ScalerSetting, settingParameters } from "./scaler-settings.ts";
import type { ScalerName } from "./scalers.ts";

export interface ScaledBaseline {
  readonly name: ScalerName;
  /** Whether the parameters were chosen in hindsight, on the simulated requests themselves. */
  readonly tuned: boolean;
  readonly parameters: ScalerOptions;
  /** Load of the level whose hardware, batches and first replicas it was given. */
  readonly planQps: number;
}

export function toldScaler(
  name: ScalerName,
  tuned: boolean,
  setting: ScalerSetting,
  planQps: number,
): ScaledBaseline {
  return { name, tuned, parameters: settingParameters(setting), planQps };
}

/** One line for people. */
export function scalerLine({ name, tuned, parameters, planQps }: ScaledBaseline): string {
  const pairs = Object.entries(parameters).map(([key, value]) => `${key} ${value}`);
  const how = tuned ? ", tuned in hindsight" : "";
  return `baseline ${name}${how}, on the plan for ${planQps} qps: ${pairs.join(", ")}`;
}

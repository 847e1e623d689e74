/** Description of a simulated autoscaler in the output of `simulate`. */
import { assert } from "stratagem-runtime/internal/core/assert";
import type { ScalerOptions } from "./scaler.ts";
import { settingParameters } from "./scaler-settings.ts";
import type { ScalerName } from "./scalers.ts";
import type { PlannedSetting } from "./tune-scaler.ts";

export interface ScaledBaseline {
  readonly name: ScalerName;
  /** Whether the parameters were tuned in hindsight, on the simulated requests themselves. */
  readonly tuned: boolean;
  readonly parameters: ScalerOptions;
  /** Load of the level whose hardware, batches and first replicas it was given. */
  readonly planQps: number;
}

/**
 * Returns the setting of a baseline, as shipped or tuned in hindsight.
 * @param of finds either for the bundle.
 */
export function chosenScaler(
  { levels }: { readonly levels: readonly { readonly loadQps: number }[] },
  name: ScalerName,
  tuned: boolean,
  of: { shipped(): PlannedSetting; tuned(): readonly PlannedSetting[] },
): { readonly planned: PlannedSetting; readonly baseline: ScaledBaseline } {
  const planned = tuned ? of.tuned()[0] : of.shipped();
  assert(planned !== undefined, "no setting was tried");
  const planQps = levels[planned.plan]?.loadQps ?? Number.NaN;
  const parameters = settingParameters(planned.setting);
  return { planned, baseline: { name, tuned, parameters, planQps } };
}

/** One line of text. */
export function scalerLine({ name, tuned, parameters, planQps }: ScaledBaseline): string {
  const pairs = Object.entries(parameters).map(([key, value]) => `${key} ${value}`);
  const how = tuned ? ", tuned in hindsight" : "";
  return `baseline ${name}${how}, on the plan for ${planQps} qps: ${pairs.join(", ")}`;
}

/** Simulates a baseline, or where there is none the policy of the bundle. */
import type { Baseline } from "../../compiler/methods/ramsis/simulate/baseline-names.ts";
import { simulateBaseline } from "../../compiler/methods/ramsis/simulate/baselines/simulate-baseline.ts";
import {
  type SimulationOptions,
  type SimulationResult,
  simulate,
} from "../../compiler/methods/ramsis/simulate/simulate.ts";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";

export function simulatedAs(
  baseline: Baseline | null,
  bundle: RamsisBundle,
  options: SimulationOptions,
): SimulationResult {
  return baseline === null
    ? simulate(bundle, options)
    : simulateBaseline(bundle, baseline, options);
}

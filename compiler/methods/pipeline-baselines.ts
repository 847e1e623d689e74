/** Names of the baselines of pipelines, and which of them can be tuned. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { SCALER_NAMES, scalerNamed } from "../simulate/graph/scalers/scalers.ts";

/**
 * @param names of the method's baselines.
 * @param tuned whether parameters are chosen in hindsight.
 * @throws RuntimeError if the baseline has no parameters.
 */
export function isPipelineBaseline(
  names: readonly string[],
  text: string,
  tuned: boolean,
): boolean {
  if (!names.includes(text)) return false;
  if (!tuned || scalerNamed(text) !== undefined) return true;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--tuned: baseline ${text} has nothing to tune; allowed with ${SCALER_NAMES.join(", ")}`,
  );
}

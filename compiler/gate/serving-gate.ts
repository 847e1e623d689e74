/** The gate as a server asks it: whether a bundle may be tried beside the one that is served. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { compare } from "./compare.ts";
import { judgementText, placeText } from "./comparison-text.ts";
import { regressionsOf } from "./gate-table.ts";
import { promisedBundle } from "./promised-bundle.ts";
import { tolerancesOf } from "./tolerance.ts";

/** Of a bundle that is in memory, nobody asks for the size of its file. */
const NO_BYTES = 0;

/**
 * Compares what both bundles state; percentiles that they do not state are not simulated.
 * @param allowed as `gate --allow` has it; null where nothing may become worse.
 * @throws RuntimeError RUNTIME_USAGE
 */
export function servingGate(
  allowed: string | null,
): (before: Bundle, after: Bundle) => Promise<readonly string[]> {
  const tolerances = allowed === null ? [] : tolerancesOf(allowed, "--limit canaryGate");
  return async (before, after) => {
    const promised = [
      await promisedBundle(before, NO_BYTES),
      await promisedBundle(after, NO_BYTES),
    ] as const;
    const worse = regressionsOf(compare(...promised, tolerances));
    return worse.map((one) => `${placeText(one)}: ${judgementText(one)}`);
  };
}

/** Gate for servers: decides whether a bundle may run as a canary beside the served one. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { compare } from "./compare.ts";
import { judgementText, placeText } from "./comparison-text.ts";
import { regressionsOf } from "./gate-table.ts";
import { promisedBundle } from "./promised-bundle.ts";
import { tolerancesOf } from "./tolerance.ts";

/** The file size of a loaded bundle is not compared. */
const NO_BYTES = 0;

/**
 * Compares the stated promises of both bundles; missing percentiles are not simulated.
 * @param allowed in the form of `gate --allow`; null to allow nothing.
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

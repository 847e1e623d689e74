/** Result of comparing two bundles. */
import type { Comparison } from "./compare.ts";
import type { Judged } from "./judge.ts";
import type { PromisedBundle } from "./promised-bundle.ts";

export interface GateOutcome {
  readonly before: PromisedBundle;
  readonly after: PromisedBundle;
  /** Paths from the command line. */
  readonly oldPath: string;
  readonly newPath: string;
  readonly rows: readonly Comparison[];
  /** Requirements of the new bundle, if any. */
  readonly requirements: readonly Judged[];
}

/** Returns whether the new bundle may replace the old one. */
export function passes({
  rows,
  requirements,
}: Pick<GateOutcome, "rows" | "requirements">): boolean {
  return (
    rows.every(({ verdict }) => verdict !== "regression") &&
    requirements.every(({ holds }) => holds)
  );
}

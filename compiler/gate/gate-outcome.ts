/** What a gate between two bundles finds. */
import type { Comparison } from "./compare.ts";
import type { Judged } from "./judge.ts";
import type { PromisedBundle } from "./promised-bundle.ts";

export interface GateOutcome {
  readonly before: PromisedBundle;
  readonly after: PromisedBundle;
  /** As they were given. */
  readonly oldPath: string;
  readonly newPath: string;
  readonly rows: readonly Comparison[];
  /** Of the new bundle, as far as they were asked for. */
  readonly requirements: readonly Judged[];
}

/** Whether the new bundle may follow the old one. */
export function passes({
  rows,
  requirements,
}: Pick<GateOutcome, "rows" | "requirements">): boolean {
  return (
    rows.every(({ verdict }) => verdict !== "regression") &&
    requirements.every(({ holds }) => holds)
  );
}

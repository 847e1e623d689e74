/** A level's table as a map of variants. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { GIVE_UP, PolicyTable, WAIT } from "../../../core/policy-table.ts";

/** Variants chosen over part of a level's states. */
export interface PolicyMap {
  /** Numbers of queued queries, ascending: [rowCount]. */
  readonly queued: readonly number[];
  /** Slacks of the grid, ascending: [columnCount]. */
  readonly slackMs: readonly number[];
  /** Index of the chosen variant, −1 for waiting, −2 for giving up: [rowCount][columnCount]. */
  readonly variantByState: readonly (readonly number[])[];
}

/**
 * Returns the policy of a level at no more than `maxRows` × `maxColumns` states, evenly spread, the
 * first and last included.
 */
export function mapPolicy(
  bundle: RamsisBundle,
  level: number,
  [maxRows, maxColumns]: readonly [number, number],
): PolicyMap {
  const table = PolicyTable.fromBundle(bundle);
  const grid = bundle.decisionSpace.slackMs.data;
  const queued = spread(table.rowQueries.length, maxRows).map((row) => table.rowQueries[row] ?? 0);
  const slackMs = spread(grid.length, maxColumns).map((column) => grid[column] ?? 0);
  const variantByState = queued.map((count) =>
    slackMs.map((slack) => {
      const action = table.lookup(level, count, slack);
      if (action === GIVE_UP) return -2;
      return action === WAIT ? -1 : table.variant(action);
    }),
  );
  return { queued, slackMs, variantByState };
}

/** Returns up to `maxCount` of the indices below `count`. */
function spread(count: number, maxCount: number): number[] {
  const length = Math.min(count, maxCount);
  const step = length > 1 ? (count - 1) / (length - 1) : 0;
  return Array.from({ length }, (_, index) => Math.round(index * step));
}

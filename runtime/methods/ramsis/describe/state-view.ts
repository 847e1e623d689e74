/** The decision of a table in one state, and its alternatives. */

import type { RamsisBundle } from "../../../bundle/schema.ts";
import { levelForLoad } from "../../../core/level-choice.ts";
import { GIVE_UP, PolicyTable, WAIT } from "../../../core/policy-table.ts";
import type { AskedState, StateQuery } from "../../../describe/asked-state.ts";
import { decidingLevel } from "../../../describe/deciding-level.ts";
import { counted, short } from "../../../describe/text.ts";
import { decidingTable } from "./class-level-view.ts";
import { onlyTask, serviceMsOf } from "./service-ms.ts";

/** One way to serve a state. */
export interface Choice {
  readonly variant: string;
  readonly batch: number;
  readonly serviceMs: number;
  readonly accuracy: number;
  /** Whether the batch ends within the slack of the query that has waited longest. */
  readonly meetsSlack: boolean;
}

/** No batch yet: a later one is expected to be better. */
interface Wait {
  /** Waiting ends when the slack falls below this, or another query comes. */
  readonly waitUntilSlackMs: number;
}

/** The earliest query is not served in time, in favour of the others. */
interface GiveUp {
  readonly givesUp: true;
}

export type Decision = Choice | Wait | GiveUp;

export interface StateInspection extends StateQuery {
  /** The level that answered. */
  readonly level: { readonly index: number; readonly loadQps: number };
  /** Class of the table; left out if the level has one table for all. */
  readonly sloClass?: string;
  /** Bucket of the table; left out without buckets. */
  readonly bucket?: string;
  /**
   * The state as the table has it: the queue cut to its capacity, the slack rounded down to the
   * grid.
   */
  readonly tableState: StateQuery;
  readonly decision: Decision;
  /**
   * Every variant at the decided batch size, including the decided one; if the decision is to wait,
   * at the size of all waiting queries.
   */
  readonly alternatives: readonly Choice[];
  /** Decision when the waiting ends without another query; only if it waits. */
  readonly afterWaiting?: Decision;
  /** Only if a share of the decisions, drawn at random, uses another table. */
  readonly otherTable?: { readonly share: number; readonly decision: Decision };
  readonly withOneMoreQueued: Decision;
  /** Null in the first column. */
  readonly withOneSlackStepLess: (Decision & { readonly slackMs: number }) | null;
}

/**
 * Returns the decision in a state, and its alternatives. @param asked `loadQps` null if unknown;
 * `level` index of the deciding level, left out for that of the load.
 * @throws RuntimeError RUNTIME_USAGE for an unknown class.
 */
export function inspectState(
  whole: RamsisBundle,
  asked: AskedState & { readonly loadQps: number | null; readonly level?: number | undefined },
): StateInspection {
  const { loadQps, queued, slackMs } = asked;
  const index = asked.level ?? levelForLoad(whole.levels, loadQps ?? Number.NaN);
  const { bundle, level, sloClass, bucket } = decidingTable(whole, index, asked);
  const table = PolicyTable.fromBundle(bundle);
  const decide = (atQueued: number, atSlackMs: number, side: 0 | 1 = 0): Decision =>
    decisionIn(bundle, table, level, atQueued, atSlackMs, side);
  const grid = bundle.decisionSpace.slackMs.data;
  const column = Math.max(
    0,
    grid.findLastIndex((ms: number) => ms <= slackMs),
  );
  const lessMs = grid[column - 1];
  const decision = decide(queued, slackMs);
  const share = table.mixtureShare(level);
  const maxBatch = onlyTask(bundle).serviceTimes.decisionMs.shape[1] ?? 1;
  const batch = "batch" in decision ? decision.batch : Math.min(queued, maxBatch);
  return {
    queued,
    slackMs,
    level: { index, loadQps: decidingLevel(whole, index)?.loadQps ?? 0 },
    ...(sloClass === undefined ? {} : { sloClass }),
    ...(bucket === undefined ? {} : { bucket }),
    tableState: { queued: table.rowQueued(queued), slackMs: grid[column] ?? 0 },
    decision,
    alternatives: onlyTask(bundle).variants.map((_, variant) =>
      choiceOf(bundle, variant, batch, slackMs),
    ),
    ...("waitUntilSlackMs" in decision
      ? { afterWaiting: decide(queued, below(grid, decision.waitUntilSlackMs)) }
      : {}),
    ...(share > 0 ? { otherTable: { share, decision: decide(queued, slackMs, 1) } } : {}),
    withOneMoreQueued: decide(queued + 1, slackMs),
    withOneSlackStepLess:
      lessMs === undefined ? null : { ...decide(queued, lessMs), slackMs: lessMs },
  };
}

/** @param table table of the bundle, which has no classes at the level. */
export function decisionIn(
  bundle: RamsisBundle,
  table: PolicyTable,
  level: number,
  queued: number,
  slackMs: number,
  side: 0 | 1 = 0,
): Decision {
  const action = table.lookup(level, queued, slackMs, side);
  if (action === GIVE_UP) return { givesUp: true };
  if (action === WAIT) {
    return { waitUntilSlackMs: table.waitUntilSlackMs(level, queued, slackMs, side) };
  }
  return choiceOf(bundle, table.variant(action), table.batch(action), slackMs);
}

/** Returns the entry of the grid before a slack. */
function below(grid: ArrayLike<number>, slackMs: number): number {
  return Array.from(grid).findLast((ms) => ms < slackMs) ?? 0;
}

/** Returns a batch of a variant, by its index, and whether it is in time. */
export function choiceOf(
  bundle: RamsisBundle,
  variant: number,
  batch: number,
  slackMs: number,
): Choice {
  const { variants, serviceTimes } = onlyTask(bundle);
  const serviceMs = serviceMsOf(serviceTimes.decisionMs, variant, batch);
  const { name = "", accuracy = 0 } = variants[variant] ?? {};
  return { variant: name, batch, serviceMs, accuracy, meetsSlack: serviceMs <= slackMs };
}

/** Describes a decision in a few words. */
export function briefText(decision: Decision): string {
  if ("givesUp" in decision) return "give the earliest query up";
  if ("waitUntilSlackMs" in decision) {
    return `wait until the slack is below ${short(decision.waitUntilSlackMs)} ms`;
  }
  const { variant, batch } = decision;
  return `${variant} on ${counted(batch, "query", "queries")}`;
}

/** Whether a worker ran this decision, for a queue that may have been shorter than its batch. */
export function isMade(
  decision: Decision,
  { variant, batch, queued }: { variant: string; batch: number; queued: number },
): boolean {
  if (!("batch" in decision) || decision.variant !== variant) return false;
  return Math.min(decision.batch, queued) === batch;
}

/**
 * Lookups in a table of decisions, shared by the dispatcher that serves and the solver that
 * simulates it.
 */
import { Rng } from "./rng.ts";

/**
 * Deadline minus now is rounded, so a query that has just arrived may seem to have an ulp less than
 * the whole SLO left and fall into the column below. A nanosecond, far above such rounding and far
 * below a service time, is added to every slack.
 */
export const SLACK_ROUNDING_MS = 1e-6;

/** Fixed seed, so that the same events give the same decisions. */
const COIN_SEED = 1;
const COIN_STREAM = 0x636f696e;

/** Coin of mixtures: one draw per decision chooses which of two tables decides. */
export function mixtureCoin(): Rng {
  return new Rng(COIN_SEED, COIN_STREAM);
}

/**
 * Gives the index of the last row that is not above a queue length, for each length up to the last
 * row.
 * @param rows ascending from 1.
 * @returns shape (last row + 1,); the first entry means nothing.
 */
export function rowByQueued(rows: ArrayLike<number>): Uint16Array {
  const capacity = rows[rows.length - 1]!;
  const index = new Uint16Array(capacity + 1);
  let row = 0;
  for (let queued = 1; queued <= capacity; queued++) {
    if (row + 1 < rows.length && rows[row + 1]! <= queued) row++;
    index[queued] = row;
  }
  return index;
}

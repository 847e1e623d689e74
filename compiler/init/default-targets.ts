/** Chooses an SLO and loads that the models of a new spec can keep, from one run of each. */
import type { InitTask } from "./read-tasks.ts";

export interface Targets {
  /** Time with its unit, such as "150 ms". */
  readonly slo: string;
  /** Requests per second, ascending. */
  readonly loads: readonly number[];
}

type TimedTask = {
  readonly models: readonly Pick<InitTask["models"][number], "ranMs">[];
  readonly count: unknown;
};

/** Placeholder of the mean rows that a counted row becomes. */
export const GUESSED_FANOUT = 4;
const LEAST_SLO_S = 1;
const LOADS = [1, 2, 5];
/** An SLO has room for a run, for one that waits for it, and for a slower machine. */
const RUNS_PER_SLO = 5;
/** The highest load takes at most this share of the workers. */
const BUSY_SHARE = 0.5;

/** Keeps what is stated. @param tasks a chain. */
export function defaultTargets(
  tasks: readonly TimedTask[],
  stated: { readonly [Key in keyof Targets]: Targets[Key] | null } & { readonly workers: number },
): Targets {
  const workS = workPerRequestS(tasks);
  const sumS = workS.reduce((sum, seconds) => sum + seconds, 0);
  const sloS = Math.max(LEAST_SLO_S, roundOf(RUNS_PER_SLO * sumS, Math.ceil));
  const topQps = Math.max(...LOADS);
  const workers = Math.floor(stated.workers / tasks.length);
  const carriedQps = (BUSY_SHARE * workers) / Math.max(...workS, 1e-9);
  const scale = Math.min(1, roundOf(carriedQps / topQps, Math.floor));
  return {
    slo: stated.slo ?? `${sloS} s`,
    loads: stated.loads ?? LOADS.map((qps) => Number((qps * scale).toPrecision(3))),
  };
}

/** Rows that `profile` runs of each variant by default: 30 times batches of 1, 2, 4 and 8. */
const PROFILED_ROWS = 30 * (1 + 2 + 4 + 8);
/** Seconds to measure a variant for a first answer. */
const FIRST_PROFILE_S = 15;

/** Returns the budget of a first profile in seconds; null where a whole one takes no longer. */
export function profileBudgetS(models: TimedTask["models"]): number | null {
  const budgetS = FIRST_PROFILE_S * models.length;
  const wholeS = models.reduce((sum, { ranMs }) => sum + (PROFILED_ROWS * (ranMs || 0)) / 1000, 0);
  return wholeS > budgetS ? budgetS : null;
}

/** Seconds that a request takes at each task, with its slowest variant. */
function workPerRequestS(tasks: readonly TimedTask[]): number[] {
  let rows = 1;
  return tasks.map(({ models, count }) => {
    if (count !== null) rows *= GUESSED_FANOUT;
    const times = models.map(({ ranMs }) => (Number.isFinite(ranMs) ? ranMs / 1000 : 0));
    return rows * Math.max(...times);
  });
}

/** Rounds to one digit. */
function roundOf(value: number, round: (value: number) => number): number {
  if (value <= 0) return 0;
  const unit = Number(`1e${Math.floor(Math.log10(value))}`);
  return Number((round(value / unit) * unit).toPrecision(1));
}

/** Chooses an SLO and loads that the models of a new spec can keep, from one run of each. */
import type { ReadModel } from "./read-model.ts";

export interface Targets {
  /** Time with its unit, such as "150 ms". */
  readonly slo: string;
  /** Requests per second, ascending. */
  readonly loads: readonly number[];
}

const LEAST_SLO_S = 1;
const LOADS = [1, 2, 5];
/** An SLO has room for a run, for one that waits for it, and for a slower machine. */
const RUNS_PER_SLO = 5;
/** The highest load takes at most this share of the workers. */
const BUSY_SHARE = 0.5;

/** Keeps what is stated. */
export function defaultTargets(
  models: readonly Pick<ReadModel, "ranMs">[],
  stated: { readonly [Key in keyof Targets]: Targets[Key] | null } & { readonly workers: number },
): Targets {
  const times = models.map(({ ranMs }) => (Number.isFinite(ranMs) ? ranMs / 1000 : 0));
  const slowestS = Math.max(...times);
  const sloS = Math.max(LEAST_SLO_S, roundOf(RUNS_PER_SLO * slowestS, Math.ceil));
  const topQps = Math.max(...LOADS);
  const carriedQps = (BUSY_SHARE * stated.workers) / Math.max(slowestS, 1e-9);
  const scale = Math.min(1, roundOf(carriedQps / topQps, Math.floor));
  return {
    slo: stated.slo ?? `${sloS} s`,
    loads: stated.loads ?? LOADS.map((qps) => Number((qps * scale).toPrecision(3))),
  };
}

/** Rounds to one digit. */
function roundOf(value: number, round: (value: number) => number): number {
  if (value <= 0) return 0;
  const unit = Number(`1e${Math.floor(Math.log10(value))}`);
  return Number((round(value / unit) * unit).toPrecision(1));
}

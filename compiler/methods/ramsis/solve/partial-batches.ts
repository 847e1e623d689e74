/**
 * State of a worker after a batch that left queries behind: variable batching, RAMSIS §4.3.2, of
 * which §4.4 says only that it follows similar reasoning.
 *
 * A batch of b < n takes the earliest deadlines, and the next decision's is that of query b + 1.
 * Its arrival time is not known from (n, T_j), but its distribution is: the first of the n arrived
 * SLO − T_j ago, (n − 1)K + q central arrivals came since, and given their number Poisson arrivals
 * are uniform points, of which query b + 1 is the bK-th. So its age, the arrivals during the batch
 * and the phase give the next state exactly, phase by phase. Two things are approximated. The next
 * decision knows only (n', T_j') about its n' queries, as every state does, and weighs its phase as
 * if they had arrived since the first of them at the usual rate; after a partial batch the older
 * ones are known to be some of n that came in SLO − T_j. And over-dispersed arrivals are spread as
 * uniformly as Poisson ones.
 */
import { orderStatisticBelow } from "../../../numeric/binomial.ts";
import { cumulativeBelow, probabilityBetween } from "../../../numeric/poisson.ts";
import type { ArrivalCounts } from "./arrival-counts.ts";
import { RowBuilder, type SparseRows } from "./row-builder.ts";
import { stateIndex } from "./transitions.ts";
import type { ServiceAtom, WorkerProblem } from "./worker-problem.ts";

export class PartialBatchBuilder {
  private readonly problem: WorkerProblem;
  private readonly rows: RowBuilder;
  private readonly below: Float64Array;

  constructor(problem: WorkerProblem) {
    this.problem = problem;
    this.rows = new RowBuilder(problem.maxQueue * problem.slackMs.length + 1);
    this.below = new Float64Array(problem.workerCount);
  }

  get rowCount(): number {
    return this.rows.rowCount;
  }

  finish(): SparseRows {
    return this.rows.finish();
  }

  /**
   * Appends the row of a batch of `batch` < `queued`.
   * @param phaseWeight w(q | state), shape (workerCount,).
   * @returns the states it reaches.
   */
  add(
    queued: number,
    slack: number,
    batch: number,
    atoms: readonly ServiceAtom[],
    counts: ArrivalCounts,
    phaseWeight: Float64Array,
  ): Uint32Array {
    const from = this.rows.entryCount;
    for (const { ms, probability } of atoms) {
      this.rows.mix(probability);
      const shares = this.newQueriesByPhase(ms, counts, phaseWeight);
      this.addAtom(queued, slack, batch, ms, shares);
    }
    this.rows.endRow();
    return this.rows.columnsFrom(from);
  }

  /**
   * P[phase q, i queries come to the worker in `ms` | state], one array over phases for each i = 0,
   * 1, ….
   */
  private newQueriesByPhase(
    ms: number,
    counts: ArrivalCounts,
    phaseWeight: Float64Array,
  ): Float64Array[] {
    const { workerCount } = this.problem;
    const window = counts.window(ms);
    const below = cumulativeBelow(window);
    const last = Math.floor((window.first + window.pmf.length - 1 + workerCount - 1) / workerCount);
    return Array.from({ length: last + 1 }, (_, more) =>
      phaseWeight.map((weight, phase) => {
        const low = more * workerCount - phase;
        return weight * probabilityBetween(window.first, below, low, low + workerCount - 1);
      }),
    );
  }

  private addAtom(
    queued: number,
    slack: number,
    batch: number,
    tauMs: number,
    shares: readonly Float64Array[],
  ): void {
    const { workerCount, slackMs, maxQueue } = this.problem;
    const { below, rows } = this;
    const slackCount = slackMs.length;
    const waitedMs = (slackMs[slackCount - 1] ?? 0) - (slackMs[slack] ?? 0);
    const nowLeftMs = (slackMs[slack] ?? 0) - tauMs;
    const left = queued - batch;
    const fitting = shares.slice(0, Math.max(0, maxQueue + 1 - left));
    const overflow = shares.slice(fitting.length);
    rows.add(
      maxQueue * slackCount,
      overflow.reduce((sum, share) => sum + total(share), 0),
    );
    const before = new Float64Array(fitting.length);
    for (let next = 0; next + 1 < slackCount; next++) {
      const cellEndMs = (slackMs[next + 1] ?? 0) - nowLeftMs;
      if (cellEndMs <= 0) continue;
      const isLast = cellEndMs >= waitedMs;
      if (isLast) below.fill(1);
      else {
        const firstCount = (queued - 1) * workerCount;
        orderStatisticBelow(batch * workerCount, firstCount, cellEndMs / waitedMs, below);
      }
      fitting.forEach((share, more) => {
        const upTo = dot(share, below);
        rows.add(stateIndex(slackCount, left + more, next), upTo - (before[more] ?? 0));
        before[more] = upTo;
      });
      if (isLast) break;
    }
  }
}

function dot(x: Float64Array, y: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += (x[i] ?? 0) * (y[i] ?? 0);
  return sum;
}

function total(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/**
 * State of a worker after a batch: the rows P(next state | phase, service time) of RAMSIS §4.4, as
 * CSR.
 *
 * Round-robin hands a worker every K-th central arrival, so the effect of a batch depends on its
 * state only through the phase q (central arrivals since the worker's last one), and on the action
 * only through its service time τ. With r = K − q arrivals to go until the worker's next query:
 * - that query arrives in the slack cell [T_j, T_{j+1}) of its later decision, which is an interval
 * C of the batch; B is the time before it and D the time after it;
 * - i arrivals in B (fewer than r), at least r − i in C, and all of them together with D determine
 * the length of the queue.
 * From the start of C on the result depends on τ only in the cell that τ cuts, so it is computed
 * once per cell (`CellTail`); each row is then a short convolution with the arrivals in B.
 */
import { convolutionTerm } from "../../../numeric/convolution.ts";
import { cumulativeBelow, type PmfWindow, probabilityBetween } from "../../../numeric/poisson.ts";
import type { ArrivalCounts } from "./arrival-counts.ts";
import { RowBuilder, type SparseRows } from "./row-builder.ts";
import type { ServiceAtom, WorkerProblem } from "./worker-problem.ts";

/** States are (queued 1 … N) × (slack index), then the full-queue state. */
export function stateIndex(slackCount: number, queued: number, slack: number): number {
  return (queued - 1) * slackCount + slack;
}

/**
 * Builds rows one service time at a time, so that only rows are built which some state can need.
 */
export class TransitionBuilder {
  private readonly problem: WorkerProblem;
  private readonly cellsOf = new Map<ArrivalCounts, readonly CellTail[]>();
  private readonly rows: RowBuilder;

  constructor(problem: WorkerProblem) {
    this.problem = problem;
    this.rows = new RowBuilder(problem.maxQueue * problem.slackMs.length + 1);
  }

  /**
   * Appends the rows of one service time, one per phase, each summing to 1 within 1e-12.
   * @returns the states they reach.
   */
  add(atoms: readonly ServiceAtom[], counts: ArrivalCounts): Uint32Array {
    const from = this.rows.entryCount;
    const { workerCount } = this.problem;
    const mixture = atoms.map(({ ms, probability }) => ({
      probability,
      next: this.afterBatch(ms, counts),
    }));
    for (let phase = 0; phase < workerCount; phase++) {
      for (const { probability, next } of mixture) {
        this.rows.mix(probability);
        addRow(this.problem, next, phase, this.rows);
      }
      this.rows.endRow();
    }
    return this.rows.columnsFrom(from);
  }

  finish(): SparseRows {
    return this.rows.finish();
  }

  private cells(counts: ArrivalCounts): readonly CellTail[] {
    const known = this.cellsOf.get(counts);
    if (known !== undefined) return known;
    const { slackMs } = this.problem;
    const cells = Array.from(slackMs.subarray(0, -1), (fromMs, slack) =>
      cellTail(this.problem, counts, (slackMs[slack + 1] ?? 0) - fromMs, slack),
    );
    this.cellsOf.set(counts, cells);
    return cells;
  }

  private afterBatch(tauMs: number, counts: ArrivalCounts): AfterBatch {
    const { slackMs } = this.problem;
    const slackCount = slackMs.length;
    const sloMs = slackMs[slackCount - 1] ?? 0;
    const pieces: AfterBatch["pieces"][number][] = [];
    for (let slack = 0; slack + 1 < slackCount; slack++) {
      const beforeMs = tauMs - sloMs + (slackMs[slack] ?? 0);
      const cellEndMs = tauMs - sloMs + (slackMs[slack + 1] ?? 0);
      if (cellEndMs <= 0) continue;
      // Slack index 0 also stands for every deadline already missed, so its cell reaches back to
      // the start of the batch.
      const cut = slack === 0 || beforeMs < 0;
      const cell = cut
        ? cellTail(this.problem, counts, cellEndMs, slack)
        : this.cells(counts)[slack];
      if (cell === undefined) continue;
      const before = cut ? AT_START : counts.window(beforeMs);
      pieces.push({ slack, before, cell });
    }
    const total = counts.window(tauMs);
    return { pieces, total, totalBelow: cumulativeBelow(total) };
  }
}

const AT_START: PmfWindow = { first: 0, pmf: Float64Array.of(1) };

/** Common part of all phases after a batch of one service time. */
interface AfterBatch {
  /** Slack cells that the worker's next query may fall into, with the arrivals before it. */
  readonly pieces: readonly {
    readonly slack: number;
    readonly before: PmfWindow;
    readonly cell: CellTail;
  }[];
  /** Central arrivals during the batch. */
  readonly total: PmfWindow;
  readonly totalBelow: Float64Array;
}

/** Distribution from the start of one slack cell on, given the number of central arrivals to go. */
interface CellTail {
  /** Smallest and one past the largest number of waiting queries at the next decision. */
  readonly queuedFrom: number;
  readonly queuedTo: number;
  /** The probability is negligible when more arrivals than this are to go. */
  readonly maxToGo: number;
  /**
   * P[the query arrives in the cell, `queued` wait | toGo], shape (maxToGo + 1, queuedTo −
   * queuedFrom).
   */
  readonly probability: Float64Array;
}

/** @param cellMs length of interval C: the whole cell, or its part that the batch covers. */
function cellTail(
  problem: WorkerProblem,
  counts: ArrivalCounts,
  cellMs: number,
  slack: number,
): CellTail {
  const { workerCount, slackMs } = problem;
  const sloMs = slackMs[slackMs.length - 1] ?? 0;
  const inCell = counts.window(cellMs);
  const after = counts.window(sloMs - (slackMs[slack + 1] ?? sloMs));
  const afterBelow = cumulativeBelow(after);
  const lastInCell = inCell.first + inCell.pmf.length - 1;
  const maxToGo = Math.min(workerCount, lastInCell);
  const queuedFrom =
    1 + Math.floor(Math.max(0, inCell.first + after.first - maxToGo) / workerCount);
  const lastAfter = after.first + after.pmf.length - 1;
  const queuedTo = 2 + Math.floor((lastInCell + lastAfter) / workerCount);
  const width = queuedTo - queuedFrom;
  const probability = new Float64Array((maxToGo + 1) * width);
  for (let toGo = 1; toGo <= maxToGo; toGo++) {
    for (let queued = queuedFrom; queued < queuedTo; queued++) {
      let sum = 0;
      for (let k = Math.max(toGo, inCell.first); k <= lastInCell; k++) {
        const low = (queued - 1) * workerCount + toGo - k;
        const waiting = probabilityBetween(after.first, afterBelow, low, low + workerCount - 1);
        sum += (inCell.pmf[k - inCell.first] ?? 0) * waiting;
      }
      probability[toGo * width + queued - queuedFrom] = sum;
    }
  }
  return { queuedFrom, queuedTo, maxToGo, probability };
}

function addRow(
  problem: WorkerProblem,
  { pieces, total, totalBelow }: AfterBatch,
  phase: number,
  rows: RowBuilder,
): void {
  const { workerCount, maxQueue } = problem;
  const slackCount = problem.slackMs.length;
  const toGo = workerCount - phase;
  // No query arrived: the worker idles until its next one, which it then serves alone with the
  // whole SLO.
  const idle = probabilityBetween(total.first, totalBelow, 0, toGo - 1);
  rows.add(stateIndex(slackCount, 1, slackCount - 1), idle);
  for (const { slack, before, cell } of pieces) {
    addCell(maxQueue, slackCount, slack, toGo, before, cell, rows);
  }
  const overflow = (maxQueue + 1) * workerCount - phase;
  const full = probabilityBetween(total.first, totalBelow, overflow, Number.MAX_SAFE_INTEGER);
  rows.add(maxQueue * slackCount, full);
}

/**
 * Adds P(queued, slack) for every queue length, the convolution of the arrivals in B with the
 * cell's tail.
 */
function addCell(
  maxQueue: number,
  slackCount: number,
  slack: number,
  toGo: number,
  before: PmfWindow,
  cell: CellTail,
  rows: RowBuilder,
): void {
  const { queuedFrom, maxToGo, probability } = cell;
  const width = cell.queuedTo - queuedFrom;
  const { first, pmf } = before;
  const from = Math.max(first, toGo - maxToGo);
  const to = Math.min(first + pmf.length, toGo);
  if (from >= to) return;
  const queuedEnd = Math.min(cell.queuedTo, maxQueue + 1);
  for (let queued = queuedFrom; queued < queuedEnd; queued++) {
    const tail = (toGo - from) * width + queued - queuedFrom;
    const sum = convolutionTerm(to - from, pmf, from - first, probability, tail, width);
    rows.add(stateIndex(slackCount, queued, slack), sum);
  }
}

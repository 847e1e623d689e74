/** Rows of the transitions that actions follow, each built on first use. */
import { type ArrivalCounts, arrivalCounts } from "./arrival-counts.ts";
import { PartialBatchBuilder } from "./partial-batches.ts";
import { type SparseRows, stackRows } from "./row-builder.ts";
import { TransitionBuilder } from "./transitions.ts";
import {
  type Action,
  type ServiceAtom,
  serviceAtoms,
  serviceCell,
  serviceTimeMs,
  type WorkerProblem,
} from "./worker-problem.ts";

interface FollowedRow {
  /** The first of the phase rows, or the single direct row. */
  readonly row: number;
  readonly direct: boolean;
  /** States that the rows reach; empty if the rows were known. */
  readonly reached: Uint32Array;
}

/**
 * From this many queries on shortest-queue-first sends a worker fewer. Source: RAMSIS appendix I.
 */
const CROWDED_FROM = 3;
const NO_STATES = new Uint32Array(0);

export class ActionRows {
  private readonly problem: WorkerProblem;
  private readonly uncrowded: ArrivalCounts;
  private readonly crowded: ArrivalCounts | null;
  private readonly phaseWeight: Float64Array;
  private readonly phaseRows: TransitionBuilder;
  private readonly directRows: PartialBatchBuilder;
  private readonly blockOf = new Map<number, number>();
  private readonly crowdedBlockOf = new Map<number, number>();
  private readonly atomsOf = new Map<number, readonly ServiceAtom[]>();
  private blockCount = 0;

  /** @param phaseWeight shape (stateCount, workerCount). */
  constructor(problem: WorkerProblem, counts: ArrivalCounts, phaseWeight: Float64Array) {
    this.problem = problem;
    this.uncrowded = counts;
    this.crowded =
      problem.crowdedRatePerMs === null
        ? null
        : arrivalCounts(problem.crowdedRatePerMs, problem.dispersion);
    this.phaseWeight = phaseWeight;
    this.phaseRows = new TransitionBuilder(problem);
    this.directRows = new PartialBatchBuilder(problem);
  }

  follow(state: number, action: Action): FollowedRow {
    const slackCount = this.problem.slackMs.length;
    const queued = 1 + Math.floor(state / slackCount);
    const isCrowded = this.crowded !== null && queued >= CROWDED_FROM;
    const counts = isCrowded && this.crowded !== null ? this.crowded : this.uncrowded;
    return action.batch < queued
      ? this.followDirect(state, queued, action, counts)
      : this.followPhases(action, counts, isCrowded ? this.crowdedBlockOf : this.blockOf);
  }

  finish(): { readonly transitions: SparseRows; readonly directStart: number } {
    const upper = this.phaseRows.finish();
    return {
      transitions: stackRows(upper, this.directRows.finish()),
      directStart: upper.rowCount,
    };
  }

  private followPhases(
    action: Action,
    counts: ArrivalCounts,
    blockOf: Map<number, number>,
  ): FollowedRow {
    const key = this.serviceKey(action);
    const { workerCount } = this.problem;
    const known = blockOf.get(key);
    if (known !== undefined) return { row: known * workerCount, direct: false, reached: NO_STATES };
    const block = this.blockCount++;
    blockOf.set(key, block);
    const reached = this.phaseRows.add(this.atoms(action), counts);
    return { row: block * workerCount, direct: false, reached };
  }

  private followDirect(
    state: number,
    queued: number,
    action: Action,
    counts: ArrivalCounts,
  ): FollowedRow {
    const { workerCount, slackMs } = this.problem;
    const row = this.directRows.rowCount;
    const reached = this.directRows.add(
      queued,
      state % slackMs.length,
      action.batch,
      this.atoms(action),
      counts,
      this.phaseWeight.subarray(state * workerCount, (state + 1) * workerCount),
    );
    return { row, direct: true, reached };
  }

  /** Actions of one service time share their rows. */
  private serviceKey({ variant, batch }: Action): number {
    return this.problem.serviceKnotsMs === null
      ? serviceTimeMs(this.problem, variant, batch)
      : serviceCell(this.problem, variant, batch);
  }

  private atoms(action: Action): readonly ServiceAtom[] {
    const cell = serviceCell(this.problem, action.variant, action.batch);
    const known = this.atomsOf.get(cell);
    if (known !== undefined) return known;
    const atoms = serviceAtoms(this.problem, action);
    this.atomsOf.set(cell, atoms);
    return atoms;
  }
}

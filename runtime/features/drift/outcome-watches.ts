/**
 * Watches the share of rows that are late or dropped, and the accuracy of the variants that answer.
 */
import { percentText } from "../../server/measures/facts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { Watch } from "./watch.ts";
import type { Change, SeenBlock } from "./watched-promise.ts";

/** Minimum duration and number of rows of a block. */
const BLOCK_MS = 5000;
const BLOCK_ROWS = 50;
/** Violations come in bursts, so the promise holds again after five minutes only. */
const BLOCKS_TO_HOLD = 60;

/** Violations above the promise that are tolerated, as a share of all rows. */
const VIOLATION_TOLERANCE = 0.005;
/** Accuracy below the promise that is tolerated. */
export const ACCURACY_TOLERANCE = 0.01;

/** A block with the bound that the bundle states, without tolerance. */
type StatedBlock = Omit<SeenBlock, "promised"> & { readonly stated: number };

/** Accumulates shares of rows between two calls into blocks. */
class OutcomeBlock {
  #startMs = Number.NaN;
  #rows = 0;
  #bad = 0;
  #stated = 0;

  /** @param stated upper bound of the share of `bad`. @returns the block once it is complete. */
  add(rows: number, bad: number, stated: number, nowMs: number): StatedBlock | undefined {
    if (Number.isNaN(this.#startMs)) this.#startMs = nowMs;
    this.#rows += rows;
    this.#bad += bad;
    this.#stated = Math.max(this.#stated, stated);
    if (nowMs - this.#startMs < BLOCK_MS || this.#rows < BLOCK_ROWS) return undefined;
    const value = Math.min(1, Math.max(0, this.#bad / this.#rows));
    const block = { value, stated: this.#stated, startMs: this.#startMs, endMs: nowMs };
    this.#startMs = nowMs;
    this.#rows = 0;
    this.#bad = 0;
    this.#stated = 0;
    return block;
  }
}

/** Mean of the blocks that contradict a promise. */
class Doubted {
  #blocks = 0;
  #value = 0;
  #stated = 0;

  add({ value, stated }: StatedBlock, isDoubted: boolean): void {
    if (!isDoubted) {
      this.#blocks = 0;
      this.#value = 0;
      this.#stated = 0;
    }
    this.#blocks++;
    this.#value += value;
    this.#stated += stated;
  }

  /** Means of shares are at most 1; their sums may be rounded up. */
  get value(): number {
    return Math.min(1, this.#value / this.#blocks);
  }

  get stated(): number {
    return Math.min(1, this.#stated / this.#blocks);
  }
}

/** Rows since the last call, if their level makes a promise. */
class PromisedRows {
  #before: Reading | undefined;

  /** @returns undefined if no promise applies to them. */
  since(reading: Reading): { satisfied: number; violations: number; accuracy: number } | undefined {
    const { promised, loadQps, topLevelQps, rows, accuracySum } = reading;
    const before = this.#before;
    this.#before = reading;
    // No promise applies above the highest level.
    const isPromised = promised?.feasible === true && !(loadQps > topLevelQps);
    if (before === undefined || !isPromised) return undefined;
    return {
      satisfied: rows.satisfied - before.rows.satisfied,
      violations: rows.late + rows.dropped - before.rows.late - before.rows.dropped,
      accuracy: accuracySum - before.accuracySum,
    };
  }
}

type RowsOf = NonNullable<ReturnType<PromisedRows["since"]>>;

/** Watches a share of rows that has a promised upper bound. */
abstract class OutcomeWatch extends Watch {
  readonly #rows = new PromisedRows();
  readonly #block = new OutcomeBlock();
  protected readonly doubted = new Doubted();
  readonly #tolerance: number;

  /** @param tolerance above the bound. */
  constructor(threshold: number, tolerance: number) {
    super(threshold, BLOCKS_TO_HOLD);
    this.#tolerance = tolerance;
  }

  look(reading: Reading, nowMs: number): Change {
    const stated = this.statedOf(reading.promised);
    const rows = this.#rows.since(reading);
    if (stated === undefined || Number.isNaN(stated) || rows === undefined) return undefined;
    const { of, bad } = this.share(rows);
    const block = this.#block.add(of, bad, stated, nowMs);
    if (block === undefined) return undefined;
    this.doubted.add(block, this.isDoubted);
    return this.see({ ...block, promised: Math.min(1, block.stated + this.#tolerance) });
  }

  /** Stated upper bound of the share, 0..1; undefined or NaN without a promise. */
  protected abstract statedOf(promised: Reading["promised"]): number | undefined;

  protected abstract share(rows: RowsOf): { readonly of: number; readonly bad: number };
}

/** Watches whether more rows are late or dropped than the level promises. */
export class ViolationWatch extends OutcomeWatch {
  readonly promise = "violations";

  constructor(threshold: number) {
    super(threshold, VIOLATION_TOLERANCE);
  }

  because(since: string): string {
    const { value, stated } = this.doubted;
    const most = percentText(stated);
    const late = percentText(value);
    return `${late} of the rows are late or dropped ${since}; the bundle promises at most ${most}`;
  }

  protected statedOf(promised: Reading["promised"]): number | undefined {
    return promised?.violationRate;
  }

  protected share({ satisfied, violations }: RowsOf) {
    return { of: satisfied + violations, bad: violations };
  }
}

/** Watches whether the variants that answer are as accurate as the level promises. */
export class AnswererWatch extends OutcomeWatch {
  readonly promise = "accuracy";

  constructor(threshold: number) {
    super(threshold, ACCURACY_TOLERANCE);
  }

  because(since: string): string {
    const { value, stated } = this.doubted;
    const least = percentText(1 - stated);
    const who = `the variants that answer have an accuracy of ${percentText(1 - value)}`;
    return `${who} ${since}; the bundle promises ${least}`;
  }

  protected statedOf(promised: Reading["promised"]): number | undefined {
    const accuracy = promised?.accuracyPerSatisfied;
    return accuracy === undefined ? undefined : 1 - accuracy;
  }

  protected share({ satisfied, accuracy }: RowsOf) {
    return { of: satisfied, bad: satisfied - accuracy };
  }
}

/** Watches what becomes of rows: how many are late or dropped, and who answers the others. */
import { percentText } from "../../server/measures/facts.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { Watch } from "./watch.ts";
import type { Change, SeenBlock } from "./watched-promise.ts";

/** A block lasts so long and has so many rows at least. */
const BLOCK_MS = 5000;
const BLOCK_ROWS = 50;
/** Violations come together, so it takes five minutes to see that they are over. */
const BLOCKS_TO_HOLD = 60;

/** Violations above the promise that are none, of all rows. */
const VIOLATION_TOLERANCE = 0.005;
/** Accuracy below the promise that is none. */
export const ACCURACY_TOLERANCE = 0.01;

/** Shares of rows between two looks, added up to blocks. */
class OutcomeBlock {
  #startMs = Number.NaN;
  #rows = 0;
  #bad = 0;
  #promised = 0;

  /** @param promised the share of `bad` at most. @returns the block, if it is whole. */
  add(rows: number, bad: number, promised: number, nowMs: number): SeenBlock | undefined {
    if (Number.isNaN(this.#startMs)) this.#startMs = nowMs;
    this.#rows += rows;
    this.#bad += bad;
    this.#promised = Math.max(this.#promised, promised);
    if (nowMs - this.#startMs < BLOCK_MS || this.#rows < BLOCK_ROWS) return undefined;
    const value = Math.min(1, Math.max(0, this.#bad / this.#rows));
    const block = { value, promised: this.#promised, startMs: this.#startMs, endMs: nowMs };
    this.#startMs = nowMs;
    this.#rows = 0;
    this.#bad = 0;
    this.#promised = 0;
    return block;
  }
}

/** Of the blocks that speak against a promise, what they say. */
class Doubted {
  #blocks = 0;
  #value = 0;
  #promised = 0;

  add({ value, promised }: SeenBlock, isDoubted: boolean): void {
    if (!isDoubted) {
      this.#blocks = 0;
      this.#value = 0;
      this.#promised = 0;
    }
    this.#blocks++;
    this.#value += value;
    this.#promised += promised;
  }

  get value(): number {
    return this.#value / this.#blocks;
  }

  get promised(): number {
    return this.#promised / this.#blocks;
  }
}

/** Rows since the last look, of what a level promises something. */
class PromisedRows {
  #before: Reading | undefined;

  /** @returns undefined where nothing was promised of them. */
  since(reading: Reading): { satisfied: number; violations: number; accuracy: number } | undefined {
    const { promised, loadQps, topLevelQps, rows, accuracySum } = reading;
    const before = this.#before;
    this.#before = reading;
    // Above the highest level nothing is promised.
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

/** A share of rows that is promised to be at most so much. */
abstract class OutcomeWatch extends Watch {
  readonly #rows = new PromisedRows();
  readonly #block = new OutcomeBlock();
  protected readonly doubted = new Doubted();

  constructor(threshold: number) {
    super(threshold, BLOCKS_TO_HOLD);
  }

  look(reading: Reading, nowMs: number): Change {
    const most = this.mostOf(reading.promised);
    const rows = this.#rows.since(reading);
    if (most === undefined || Number.isNaN(most) || rows === undefined) return undefined;
    const { of, bad } = this.share(rows);
    const block = this.#block.add(of, bad, Math.min(1, most), nowMs);
    if (block === undefined) return undefined;
    this.doubted.add(block, this.isDoubted);
    return this.see(block);
  }

  /** The share that is granted; undefined or NaN where nothing is promised. */
  protected abstract mostOf(promised: Reading["promised"]): number | undefined;

  protected abstract share(rows: RowsOf): { readonly of: number; readonly bad: number };
}

/** Whether no more rows are late or dropped than the level promises. */
export class ViolationWatch extends OutcomeWatch {
  readonly promise = "violations";

  because(since: string): string {
    const { value, promised } = this.doubted;
    const most = percentText(promised - VIOLATION_TOLERANCE);
    const late = percentText(value);
    return `${late} of the rows are late or dropped ${since}, ${most} at most promised`;
  }

  protected mostOf(promised: Reading["promised"]): number | undefined {
    const rate = promised?.violationRate;
    return rate === undefined ? undefined : rate + VIOLATION_TOLERANCE;
  }

  protected share({ satisfied, violations }: RowsOf) {
    return { of: satisfied + violations, bad: violations };
  }
}

/** Whether the levels let answer whom they promise. */
export class AnswererWatch extends OutcomeWatch {
  readonly promise = "accuracy";

  because(since: string): string {
    const { value, promised } = this.doubted;
    const least = percentText(1 - promised + ACCURACY_TOLERANCE);
    const who = `the variants that answer have an accuracy of ${percentText(1 - value)}`;
    return `${who} ${since}, ${least} is promised`;
  }

  protected mostOf(promised: Reading["promised"]): number | undefined {
    const accuracy = promised?.accuracyPerSatisfied;
    return accuracy === undefined ? undefined : 1 - accuracy + ACCURACY_TOLERANCE;
  }

  protected share({ satisfied, accuracy }: RowsOf) {
    return { of: satisfied, bad: satisfied - accuracy };
  }
}

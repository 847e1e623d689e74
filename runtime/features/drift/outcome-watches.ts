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

/** Accumulates shares of rows between two calls into blocks. */
class OutcomeBlock {
  #startMs = Number.NaN;
  #rows = 0;
  #bad = 0;
  #promised = 0;

  /** @param promised upper bound of the share of `bad`. @returns the block once it is complete. */
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

/** Mean of the blocks that contradict a promise. */
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

  /** Upper bound of the share; undefined or NaN without a promise. */
  protected abstract mostOf(promised: Reading["promised"]): number | undefined;

  protected abstract share(rows: RowsOf): { readonly of: number; readonly bad: number };
}

/** Watches whether more rows are late or dropped than the level promises. */
export class ViolationWatch extends OutcomeWatch {
  readonly promise = "violations";

  because(since: string): string {
    const { value, promised } = this.doubted;
    const most = percentText(promised - VIOLATION_TOLERANCE);
    const late = percentText(value);
    return `${late} of the rows are late or dropped ${since}; the bundle promises at most ${most}`;
  }

  protected mostOf(promised: Reading["promised"]): number | undefined {
    const rate = promised?.violationRate;
    return rate === undefined ? undefined : rate + VIOLATION_TOLERANCE;
  }

  protected share({ satisfied, violations }: RowsOf) {
    return { of: satisfied + violations, bad: violations };
  }
}

/** Watches whether the variants that answer are as accurate as the level promises. */
export class AnswererWatch extends OutcomeWatch {
  readonly promise = "accuracy";

  because(since: string): string {
    const { value, promised } = this.doubted;
    const least = percentText(1 - promised + ACCURACY_TOLERANCE);
    const who = `the variants that answer have an accuracy of ${percentText(1 - value)}`;
    return `${who} ${since}; the bundle promises ${least}`;
  }

  protected mostOf(promised: Reading["promised"]): number | undefined {
    const accuracy = promised?.accuracyPerSatisfied;
    return accuracy === undefined ? undefined : 1 - accuracy + ACCURACY_TOLERANCE;
  }

  protected share({ satisfied, accuracy }: RowsOf) {
    return { of: satisfied, bad: satisfied - accuracy };
  }
}

/** What batches take, by variant, size and kind of place, as a running server measures it. */
import { head, type Labels, line, type MetricLine } from "../../base/exposition.ts";
import type { ProfiledTime } from "../metrics/profiled-times.ts";
import { TimeSketch } from "./time-sketch.ts";
import { type ServiceBlock, VariantBlock } from "./variant-block.ts";

const TIMES = "stratagem_service_time_seconds";
const QUANTILES = [0.5, 0.95, 0.99];

/** What a bundle says of its batches. A kind is a pool, a number of cores, or a bucket. */
export interface ProfiledCells {
  /** Of a variant, by its index. */
  readonly variants: readonly Labels[];
  kindLabels(kind: number): Labels;
  /** Undefined for a batch that was not profiled. */
  profiled(variant: number, rows: number, kind: number): ProfiledTime | undefined;
  /** Service times when n workers compute at once, over those of one, at n − 1; none: all 1. */
  readonly contention?: readonly number[] | undefined;
}

/** A batch that is over. */
export interface TimedBatch {
  readonly variant: number;
  readonly rows: number;
  readonly kind: number;
  /** From handing it to its worker until its result was here. */
  readonly aroundMs: number;
  /** In the worker. */
  readonly insideMs: number;
  /** When the result was here. */
  readonly endMs: number;
  /** Most workers that computed at its start and at its end, its own included. */
  readonly busyWorkers: number;
}

interface Cell {
  readonly variant: number;
  readonly rows: number;
  readonly kind: number;
  readonly times: RecentTimes;
  /** Of the bundle that decides. */
  profiled: ProfiledTime | undefined;
}

/** Cells there are at most; batches of others are in no cell. */
const MAX_CELLS = 4096;
const MAX_KINDS = 1024;
const MAX_ROWS = 65_536;

/** Feeds of schedulers; all memory is bounded by the variants and batches of the bundle. */
export class ServiceTimes {
  readonly #nowMs: () => number;
  readonly #cells = new Map<number, Cell>();
  #profiled: ProfiledCells;
  #blocks: readonly VariantBlock[];

  /** @param nowMs of a clock that does not go back. */
  constructor(profiled: ProfiledCells, nowMs: () => number) {
    this.#profiled = profiled;
    this.#nowMs = nowMs;
    this.#blocks = profiled.variants.map(() => new VariantBlock());
  }

  get variants(): readonly Labels[] {
    return this.#profiled.variants;
  }

  onBatch({ variant, rows, kind, aroundMs, insideMs, endMs, busyWorkers }: TimedBatch): void {
    const cell = this.#cellOf(variant, rows, kind);
    if (cell === undefined) return;
    cell.times.add(aroundMs, endMs);
    if (cell.profiled === undefined) return;
    const { contention } = this.#profiled;
    const factor = contention?.[Math.min(busyWorkers, contention.length) - 1] ?? 1;
    const batch = { rows, insideMs: insideMs / factor, wayMs: aroundMs - insideMs };
    this.#blocks[variant]?.add(batch, cell.profiled, endMs);
  }

  /** Another bundle of the same variants decides from now on. */
  follow(profiled: ProfiledCells): void {
    this.#profiled = profiled;
    for (const cell of this.#cells.values()) {
      cell.profiled = profiled.profiled(cell.variant, cell.rows, cell.kind);
    }
    this.#blocks = profiled.variants.map(() => new VariantBlock());
  }

  /** The block of a variant that is full, which then begins anew; undefined before. */
  takeBlock(variant: number, nowMs: number): ServiceBlock | undefined {
    return this.#blocks[variant]?.take(nowMs);
  }

  lines(): MetricLine[] {
    const nowMs = this.#nowMs();
    const cells = [...this.#cells.values()].sort(byPlace);
    return [
      head(TIMES, "summary", "Time of batches around their workers; quantiles of 5 to 10 minutes"),
      ...cells.flatMap(({ variant, rows, kind, times }) => {
        const labels = {
          ...this.#profiled.variants[variant],
          ...this.#profiled.kindLabels(kind),
          batch: String(rows),
        };
        const values = times.quantiles(QUANTILES, nowMs);
        return [
          ...QUANTILES.map((quantile, index) =>
            line(TIMES, { ...labels, quantile: `${quantile}` }, (values[index] ?? NaN) / 1000),
          ),
          line(`${TIMES}_sum`, labels, times.sumMs / 1000),
          line(`${TIMES}_count`, labels, times.count),
        ];
      }),
    ];
  }

  #cellOf(variant: number, rows: number, kind: number): Cell | undefined {
    const key = (variant * MAX_KINDS + kind) * MAX_ROWS + rows;
    const known = this.#cells.get(key);
    if (known !== undefined || this.#cells.size >= MAX_CELLS) return known;
    const times = new RecentTimes(this.#nowMs());
    const profiled = this.#profiled.profiled(variant, rows, kind);
    const cell = { variant, rows, kind, times, profiled };
    this.#cells.set(key, cell);
    return cell;
  }
}

function byPlace(one: Cell, other: Cell): number {
  return one.variant - other.variant || one.kind - other.kind || one.rows - other.rows;
}

/** Quantiles are over the last one to two of these. */
const SPAN_MS = 300_000;

class RecentTimes {
  /** Since the start. */
  count = 0;
  sumMs = 0;
  #now = new TimeSketch();
  #before = new TimeSketch();
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  add(ms: number, nowMs: number): void {
    if (nowMs - this.#sinceMs >= SPAN_MS) this.#turn(nowMs);
    this.count++;
    this.sumMs += ms;
    this.#now.add(ms);
  }

  /**
   * Of the last 5 to 10 minutes. @param shares in (0, 1]. @returns ms; NaN where nothing ran in
   * that time.
   */
  quantiles(shares: readonly number[], nowMs: number): number[] {
    if (nowMs - this.#sinceMs >= SPAN_MS) this.#turn(nowMs);
    const all = new TimeSketch();
    all.merge(this.#now);
    all.merge(this.#before);
    return shares.map((share) => all.quantile(share));
  }

  #turn(nowMs: number): void {
    [this.#now, this.#before] = [this.#before, this.#now];
    this.#now.clear();
    // What is older than two spans is in neither.
    if (nowMs - this.#sinceMs >= 2 * SPAN_MS) this.#before.clear();
    this.#sinceMs = nowMs;
  }
}

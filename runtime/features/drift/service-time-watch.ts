/** Watches whether a variant's batches take as long as its profile states. */
import {
  type ServiceBlock,
  type ServiceTimes,
  TIME_TOLERANCE,
  TimeSketch,
} from "../../server/measures/service-times.ts";
import type { Reading } from "../../server/measures/watched.ts";
import { Watch } from "./watch.ts";
import type { Change } from "./watched-promise.ts";

/** Share of blocks that may be slow because of the machine while the promise holds. */
const SLOW_BLOCKS = 0.1;
/** Two minutes in blocks of 5 s. */
const BLOCKS_TO_HOLD = 24;

export class ServiceTimeWatch extends Watch {
  readonly promise = "service_time";
  readonly #times: ServiceTimes;
  readonly #variant: number;
  /** Batches seen since the promise is in doubt. */
  #batches = 0;
  readonly #ratios = new TimeSketch();
  #batchesBySize = new Map<number, number>();

  constructor(times: ServiceTimes, variant: number, threshold: number) {
    super(threshold, BLOCKS_TO_HOLD);
    this.#times = times;
    this.#variant = variant;
  }

  look(_reading: Reading, nowMs: number): Change {
    const block = this.#times.takeBlock(this.#variant, nowMs);
    if (block === undefined) return undefined;
    if (!this.isDoubted) this.#forget();
    if (block.isSlow || this.#batches > 0) this.#remember(block);
    const { startMs, endMs } = block;
    return this.see({ value: block.isSlow ? 1 : 0, promised: SLOW_BLOCKS, startMs, endMs });
  }

  because(since: string): string {
    const { task, variant, stage } = this.#times.variants[this.#variant] ?? {};
    const name = [task, variant, stage].filter((part) => part !== undefined).join("/");
    const ratio = this.#ratios.quantile(0.5);
    const sizes = [...this.#batchesBySize].sort(([, one], [, other]) => other - one);
    const [most = 0] = sizes[0] ?? [];
    const at = `at batch ${most}${sizes.length > 1 ? " and others" : ""}`;
    const by = `${since}, in ${this.#batches} batches`;
    if (ratio > 1 + TIME_TOLERANCE) {
      return `${name} takes ${ratio.toFixed(1)}x its profile ${at} ${by}`;
    }
    const much = `more than ${1 + TIME_TOLERANCE}x the time that decisions assume`;
    return `${name} takes ${much} in a quarter of its batches, ${at}, ${by}`;
  }

  #remember({ batches, ratio, sizes }: ServiceBlock): void {
    this.#batches += batches;
    this.#ratios.add(ratio);
    for (const { rows, batches: own } of sizes) {
      this.#batchesBySize.set(rows, (this.#batchesBySize.get(rows) ?? 0) + own);
    }
  }

  #forget(): void {
    this.#batches = 0;
    this.#ratios.clear();
    this.#batchesBySize = new Map();
  }
}

/** Measures the pace of places from the instances that pass them. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { PaceMonitor } from "../../../core/pace.ts";
import {
  FIXED_VARIANCE,
  type ReferenceMode,
  UNKNOWN_VARIANCE,
} from "../../../core/pace-reference.ts";
import type { PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";

export interface PlacePaceOptions {
  /** Whether decisions follow the pace; true unless said otherwise. */
  readonly adapt?: boolean;
  /** What instances take on a machine as profiled; their measured means unless said otherwise. */
  readonly reference?: ReferenceMode;
}

/**
 * What places take, relative to the profile. The slowest place of a pipeline sets its step, so a
 * run of several places speaks for the slowest of them.
 */
export class PlacePaces {
  readonly monitor: PaceMonitor;
  readonly #table: PipelineTable;
  readonly #ledger: PlaceLedger;
  /** [modelCount, shapeCount]: mean of what instances take over what the table says. */
  readonly #means: Float64Array;
  readonly #variance: number;
  readonly #contention: readonly number[];
  /** [maxDepth + 1]: pace of the slowest of so many places, the fastest that are up. */
  readonly #bySize: Float64Array;

  constructor(
    bundle: Pick<AccordionBundle, "tasks" | "cluster">,
    table: PipelineTable,
    ledger: PlaceLedger,
    { adapt = true, reference = "measured" }: PlacePaceOptions = {},
  ) {
    const isDecision = reference === "decision";
    const means = meansOf(bundle);
    this.#table = table;
    this.#ledger = ledger;
    this.#means = isDecision || means === null ? new Float64Array(cellCountOf(table)).fill(1) : means;
    this.#variance = isDecision ? FIXED_VARIANCE : UNKNOWN_VARIANCE;
    this.#contention = bundle.cluster.serving?.contention ?? [];
    this.#bySize = new Float64Array(table.maxDepth + 1).fill(1);
    const mayBeFaster = isDecision || means !== null;
    this.monitor = new PaceMonitor(ledger.placeCount, cellCountOf(table), { adapt, mayBeFaster });
  }

  of(place: number): number {
    return this.monitor.paceOf(place);
  }

  /** What a model takes in a shape on the fastest places that are up. */
  ofShape(model: number, shape: number): number {
    const pace = this.#bySize[this.#table.sizeOf(shape)]!;
    return pace * this.monitor.correctionOf(this.#cellOf(model, shape));
  }

  /** What a model takes in a shape on places of which the slowest has a pace. */
  on(pace: number, model: number, shape: number): number {
    return pace * this.monitor.correctionOf(this.#cellOf(model, shape));
  }

  comeUp(place: number): void {
    this.monitor.onReady(place);
    this.#refresh();
  }

  goDown(place: number): void {
    this.monitor.onLost(place);
    this.#refresh();
  }

  /**
   * An instance has left a pipeline.
   * @param place the slowest of it. @param foretoldMs by the table, since the one before.
   */
  ran(
    place: number,
    model: number,
    shape: number,
    ranMs: number,
    foretoldMs: number,
    nowMs: number,
  ): void {
    const cell = this.#cellOf(model, shape);
    const busy = this.#ledger.readyCount - this.#ledger.freeCount;
    const expectedMs =
      (foretoldMs * this.#means[cell]! * this.#factor(busy)) / this.#table.stretch;
    this.monitor.onRun(place, ranMs, expectedMs, this.#variance, cell, nowMs);
    this.#refresh();
  }

  /** Lets paces of places that run nothing go back. Called before decisions. */
  look(nowMs: number): void {
    this.monitor.look(nowMs);
    this.#refresh();
  }

  #refresh(): void {
    const { monitor } = this;
    if (monitor.isEven) {
      this.#bySize.fill(monitor.poolPace);
      return;
    }
    // Ascending, as far as there are places.
    let count = 0;
    const most = this.#bySize.length - 1;
    for (let place = 0; place < this.#ledger.placeCount; place++) {
      if (!this.#ledger.isUp(place)) continue;
      const pace = monitor.paceOf(place);
      let at = Math.min(count, most);
      if (count < most) count++;
      else if (pace >= this.#bySize[most]!) continue;
      for (; at > 0 && at >= 1 && at > 1 - 1 && this.#bySize[at]! > pace && at < count; at--) {
        this.#bySize[at + 1] = this.#bySize[at]!;
      }
      this.#bySize[at + 1 > most ? most : at + 1] = pace;
    }
  }

  #cellOf(model: number, shape: number): number {
    return model * this.#table.shapeCount + shape;
  }

  #factor(busyPlaces: number): number {
    const most = this.#contention.length;
    return most === 0 ? 1 : this.#contention[Math.max(0, Math.min(busyPlaces, most) - 1)]!;
  }
}

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
  /** Expected times on a machine as profiled; the measured means by default. */
  readonly reference?: ReferenceMode;
  /** Whether places take processors from each other as the bundle says; true if left out. */
  readonly contends?: boolean;
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
    { adapt = true, reference = "measured", contends = true }: PlacePaceOptions = {},
  ) {
    const isDecision = reference === "decision";
    const means = meansOf(bundle);
    this.#table = table;
    this.#ledger = ledger;
    const asDecided = new Float64Array(cellCountOf(table)).fill(1);
    this.#means = isDecision || means === null ? asDecided : means;
    this.#variance = isDecision ? FIXED_VARIANCE : UNKNOWN_VARIANCE;
    this.#contention = contends ? (bundle.cluster.serving?.contention ?? []) : [];
    this.#bySize = new Float64Array(table.maxDepth + 1).fill(1);
    const mayBeFaster = isDecision || means !== null;
    this.monitor = new PaceMonitor(ledger.placeCount, cellCountOf(table), { adapt, mayBeFaster });
  }

  of(place: number): number {
    return this.monitor.meanPaceOf(place);
  }

  /** Time of a model in a shape on the fastest places that are up. */
  ofShape(model: number, shape: number): number {
    const pace = this.#bySize[this.#table.sizeOf(shape)]!;
    return pace * this.monitor.correctionOf(this.#cellOf(model, shape));
  }

  /** Time of a model in a shape on the fastest free places. */
  ofFree(model: number, shape: number): number {
    let pace = 0;
    for (let rank = 0; rank < this.#table.sizeOf(shape); rank++) {
      const next = this.#nextFree(pace, rank);
      if (next === Number.POSITIVE_INFINITY) break;
      pace = next;
    }
    return this.on(pace === 0 ? this.monitor.poolPace : pace, model, shape);
  }

  /** The free place of a class with the lowest pace, of equals the first; there is one. */
  fastestFree(placeClass: number): number {
    const { placeCount, classOfPlace } = this.#ledger;
    let fastest = -1;
    for (let place = 0; place < placeCount; place++) {
      if (classOfPlace[place] !== placeClass || !this.#ledger.isFree(place)) continue;
      if (fastest < 0 || this.of(place) < this.of(fastest)) fastest = place;
    }
    return fastest;
  }

  /** Pace that more than `rank` free places do not exceed, from one on; Infinity for none. */
  #nextFree(fromPace: number, rank: number): number {
    let next = Number.POSITIVE_INFINITY;
    let count = 0;
    for (let place = 0; place < this.#ledger.placeCount; place++) {
      if (!this.#ledger.isFree(place)) continue;
      const pace = this.of(place);
      if (pace <= fromPace) count++;
      else next = Math.min(next, pace);
    }
    return count > rank ? fromPace : next;
  }

  /** Time of a model in a shape on places whose slowest has a pace. */
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
    const expectedMs = (foretoldMs * this.#means[cell]! * this.#factor(busy)) / this.#table.stretch;
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
    // Ascending from index 1 on; what so many places do not exist for takes what all do.
    const bySize = this.#bySize;
    const most = bySize.length - 1;
    let count = 0;
    for (let place = 0; place < this.#ledger.placeCount; place++) {
      if (!this.#ledger.isUp(place)) continue;
      const pace = monitor.meanPaceOf(place);
      if (count === most && pace >= bySize[most]!) continue;
      let at = count === most ? most : ++count;
      for (; at > 1 && bySize[at - 1]! > pace; at--) bySize[at] = bySize[at - 1]!;
      bySize[at] = pace;
    }
    for (let size = count + 1; size <= most; size++) bySize[size] = bySize[count]!;
  }

  #cellOf(model: number, shape: number): number {
    return model * this.#table.shapeCount + shape;
  }

  #factor(busyPlaces: number): number {
    const most = this.#contention.length;
    return most === 0 ? 1 : this.#contention[Math.max(0, Math.min(busyPlaces, most) - 1)]!;
  }
}

function cellCountOf({ modelCount, shapeCount }: PipelineTable): number {
  return modelCount * shapeCount;
}

/**
 * [modelCount, shapeCount]: mean over decision time of the stage that sets the step of a pipeline;
 * null where the profile has one number for each.
 */
function meansOf({ tasks }: Pick<AccordionBundle, "tasks">): Float64Array | null {
  const pipelines = tasks.flatMap(({ variants }) => variants.flatMap((one) => one.pipelines));
  const isKnown = pipelines.every((one) => one === null || one.stageSpreads !== undefined);
  if (!isKnown) return null;
  return Float64Array.from(pipelines, (pipeline) => {
    const spreads = pipeline?.stageSpreads ?? [];
    if (pipeline === null || spreads.length === 0) return 1;
    return Math.max(...spreads.map(({ mean }) => mean)) / pipeline.stepMs;
  });
}

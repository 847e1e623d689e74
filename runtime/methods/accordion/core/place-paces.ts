/** Measures the pace of places from the instances that pass them. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import {
  FIXED_VARIANCE,
  PaceMonitor,
  type ReferenceMode,
  UNKNOWN_VARIANCE,
} from "../../../core/pace.ts";
import type { PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";

export interface PlacePaceOptions {
  /** Whether decisions follow the pace; default true. */
  readonly adapt?: boolean;
  /** Expected times on a machine as profiled; the measured means by default. */
  readonly reference?: ReferenceMode;
  /** Whether places compete for processors as the bundle says; default true. */
  readonly contends?: boolean;
}

/** Beats until the end of the next run after which a run counts half. */
const MEMORY = 0.5;
/** Beats without a run after which a place counts as profiled. */
const IDLE = 2;
/** Below this a place is as profiled. */
const LEAST_PACE = 1.1;

/**
 * Paces of places: the mean of what they took lately over what the table says. A query runs for
 * many instances, longer than a spell, so the mean foretells it; a pace that follows spells makes
 * queries be given up that would be in time. The slowest place of a pipeline sets its step, so a
 * run of several places speaks for the slowest of them.
 */
export class PlacePaces {
  readonly monitor: PaceMonitor;
  readonly #table: PipelineTable;
  readonly #ledger: PlaceLedger;
  /** Ratio of the mean time of instances to the table, [modelCount, shapeCount]. */
  readonly #means: Float64Array;
  readonly #variance: number;
  readonly #contention: readonly number[];
  /** Pace of the slowest of so many places, the fastest that are up, [maxDepth + 1]. */
  readonly #bySize: Float64Array;
  readonly #adapts: boolean;
  readonly #beatMs: number;
  /** [placeCount]: time that instances took and were expected to take, the latest most. */
  readonly #ranMs: Float64Array;
  readonly #expectedMs: Float64Array;
  readonly #lastMs: Float64Array;
  readonly #pace: Float64Array;
  #isEven = true;

  constructor(
    bundle: Pick<AccordionBundle, "tasks" | "cluster" | "slo">,
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
    this.#adapts = adapt;
    this.#beatMs = beatMsOf(bundle.slo);
    this.#ranMs = new Float64Array(ledger.placeCount);
    this.#expectedMs = new Float64Array(ledger.placeCount);
    this.#lastMs = new Float64Array(ledger.placeCount);
    this.#pace = new Float64Array(ledger.placeCount).fill(1);
    const mayBeFaster = isDecision || means !== null;
    this.monitor = new PaceMonitor(ledger.placeCount, cellCountOf(table), {
      adapt,
      mayBeFaster,
      beatMs: this.#beatMs,
      serving: bundle.cluster.serving,
    });
  }

  /** Whether all places are as profiled. */
  get isEven(): boolean {
    return this.#isEven;
  }

  of(place: number): number {
    return this.#pace[place]!;
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
    return this.on(Math.max(1, pace), model, shape);
  }

  /** Returns the free place of a class with the lowest pace; ties go to the first. Requires one. */
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

  /** Returns the time of a model in a shape on places whose slowest has a pace. */
  on(pace: number, model: number, shape: number): number {
    return pace * this.monitor.correctionOf(this.#cellOf(model, shape));
  }

  comeUp(place: number): void {
    this.monitor.onReady(place);
    this.#forget(place);
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
    this.monitor.onRun(place, ranMs, expectedMs, this.#variance, cell, nowMs, expectedMs);
    if (!(this.#adapts && ranMs >= 0 && expectedMs > 0)) return;
    const kept = (MEMORY * this.#beatMs) / (MEMORY * this.#beatMs + nowMs - this.#lastMs[place]!);
    this.#lastMs[place] = nowMs;
    this.#ranMs[place] = this.#ranMs[place]! * kept + ranMs;
    this.#expectedMs[place] = this.#expectedMs[place]! * kept + expectedMs;
    const ratio = this.#ranMs[place]! / this.#expectedMs[place]!;
    this.#pace[place] = ratio < LEAST_PACE ? 1 : ratio;
    this.#refresh();
  }

  /** Lets paces of idle places decay. Called before decisions. */
  look(nowMs: number): void {
    this.monitor.look(nowMs);
    if (this.#isEven) return;
    for (let place = 0; place < this.#pace.length; place++) {
      if (nowMs - this.#lastMs[place]! >= IDLE * this.#beatMs) this.#forget(place);
    }
    this.#refresh();
  }

  #forget(place: number): void {
    this.#ranMs[place] = 0;
    this.#expectedMs[place] = 0;
    this.#pace[place] = 1;
  }

  #refresh(): void {
    this.#isEven = this.#pace.every((pace) => pace === 1);
    if (this.#isEven) {
      this.#bySize.fill(1);
      return;
    }
    // Ascending from index 1 on; what so many places do not exist for takes what all do.
    const bySize = this.#bySize;
    const most = bySize.length - 1;
    let count = 0;
    for (let place = 0; place < this.#ledger.placeCount; place++) {
      if (!this.#ledger.isUp(place)) continue;
      const pace = this.#pace[place]!;
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

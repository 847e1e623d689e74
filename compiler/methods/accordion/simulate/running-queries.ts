/** Keeps how far every running query of a simulation has come. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import type { PipelineTable } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";

/**
 * How far every query has come: since when it runs on its places, and which of its instances is
 * next. Arrays are by slot.
 */
export class RunningQueries {
  shrinks = 0;
  grows = 0;
  /** Shrinks, growths, and changes to as many other places. */
  reconfigurations = 0;
  instancesRedone = 0;
  readonly #table: PipelineTable;
  readonly #reconfigurationMs: number;
  /** [modelCount, shapeCount]: time between two instances. */
  readonly #stepMs: Float64Array;
  readonly #model: Uint16Array;
  readonly #batch: Uint32Array;
  readonly #shape: Uint16Array;
  /**
   * Start of the run, which is a part of the query on the same places; instances done before it and
   * in it.
   */
  readonly #runMs: Float64Array;
  readonly #doneBefore: Uint32Array;
  readonly #doneInRun: Uint32Array;

  constructor(bundle: AccordionBundle, table: PipelineTable, slotCount: number) {
    this.#table = table;
    this.#reconfigurationMs = bundle.policy.reconfigurationMs;
    const variants = bundle.tasks[0]?.variants ?? [];
    this.#stepMs = Float64Array.from(
      variants.flatMap(({ pipelines }) => pipelines.map((one) => one?.stepMs ?? Number.NaN)),
    );
    this.#model = new Uint16Array(slotCount);
    this.#batch = new Uint32Array(slotCount);
    this.#shape = new Uint16Array(slotCount);
    this.#runMs = new Float64Array(slotCount);
    this.#doneBefore = new Uint32Array(slotCount);
    this.#doneInRun = new Uint32Array(slotCount);
  }

  admit(slot: number, model: number, batch: number): void {
    this.#model[slot] = model;
    this.#batch[slot] = batch;
    this.#doneBefore[slot] = 0;
    this.#doneInRun[slot] = 0;
  }

  /** @returns when the next instance is done. */
  start(slot: number, shape: number, resumeAt: number, nowMs: number): number {
    this.#begin(slot, shape, resumeAt);
    this.#runMs[slot] = nowMs;
    return this.#nextMs(slot);
  }

  /** The instances in flight are lost. @returns when the next instance is done. */
  reshape(slot: number, shape: number, resumeAt: number, nowMs: number): number {
    const change = this.#table.sizeOf(shape) - this.#table.sizeOf(this.#shape[slot] ?? 0);
    if (change < 0) this.shrinks++;
    else if (change > 0) this.grows++;
    this.reconfigurations++;
    this.instancesRedone += this.#inFlight(slot, nowMs);
    this.#begin(slot, shape, resumeAt);
    this.#runMs[slot] = nowMs + this.#reconfigurationMs;
    return this.#nextMs(slot);
  }

  /** One more is done. @returns when the next one is; Infinity after the last. */
  finishInstance(slot: number): number {
    const done = (this.#doneInRun[slot] ?? 0) + 1;
    this.#doneInRun[slot] = done;
    const left = (this.#batch[slot] ?? 0) - (this.#doneBefore[slot] ?? 0) - done;
    return left === 0 ? Number.POSITIVE_INFINITY : this.#nextMs(slot);
  }

  #begin(slot: number, shape: number, resumeAt: number): void {
    const done = (this.#doneBefore[slot] ?? 0) + (this.#doneInRun[slot] ?? 0);
    assert(resumeAt === done, "a query goes on with the first instance that is not done");
    this.#shape[slot] = shape;
    this.#doneBefore[slot] = resumeAt;
    this.#doneInRun[slot] = 0;
  }

  #nextMs(slot: number): number {
    const next = (this.#doneInRun[slot] ?? 0) + 1;
    const model = this.#model[slot] ?? 0;
    return (
      (this.#runMs[slot] ?? Number.NaN) + this.#table.latencyMs(model, this.#shape[slot] ?? 0, next)
    );
  }

  /** Instances that have begun and are not done: one begins with every step of the pipeline. */
  #inFlight(slot: number, nowMs: number): number {
    const ranMs = nowMs - (this.#runMs[slot] ?? Number.NaN);
    if (ranMs < 0) return 0;
    const at = (this.#model[slot] ?? 0) * this.#table.shapeCount + (this.#shape[slot] ?? 0);
    const left = (this.#batch[slot] ?? 0) - (this.#doneBefore[slot] ?? 0);
    const begun = Math.min(left, 1 + Math.floor(ranMs / (this.#stepMs[at] ?? Number.NaN)));
    return Math.max(0, begun - (this.#doneInRun[slot] ?? 0));
  }
}

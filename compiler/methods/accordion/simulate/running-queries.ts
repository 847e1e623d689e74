/** Progress of every running query of a simulation. */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import type { PipelineTable } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";
import type { InstanceTimes } from "./instance-times.ts";

/**
 * Progress of every query: when it started on its places, and its next instance. Arrays are by
 * slot.
 */
export class RunningQueries {
  shrinks = 0;
  grows = 0;
  /** Shrinks, growths, and changes to as many other places. */
  reconfigurations = 0;
  instancesRedone = 0;
  readonly #table: PipelineTable;
  readonly #times: InstanceTimes;
  /** [modelCount, shapeCount]: time between two instances. */
  readonly #stepMs: Float64Array;
  readonly #model: Uint16Array;
  readonly #batch: Uint32Array;
  readonly #shape: Uint16Array;
  /**
   * Start of the run, which is the part of the query on the same places; instances finished before
   * it and in it, and those that have left the pipeline, finished or not.
   */
  readonly #runMs: Float64Array;
  readonly #doneBefore: Uint32Array;
  readonly #doneInRun: Uint32Array;
  readonly #outOfRun: Uint32Array;
  /** When the next instance leaves the pipeline and the last one did, from the start of the run. */
  readonly #nextMs: Float64Array;
  readonly #lastMs: Float64Array;

  constructor(
    bundle: AccordionBundle,
    table: PipelineTable,
    slotCount: number,
    times: InstanceTimes,
  ) {
    this.#table = table;
    this.#times = times;
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
    this.#outOfRun = new Uint32Array(slotCount);
    this.#nextMs = new Float64Array(slotCount);
    this.#lastMs = new Float64Array(slotCount);
  }

  admit(slot: number, model: number, batch: number): void {
    this.#model[slot] = model;
    this.#batch[slot] = batch;
    this.#doneBefore[slot] = 0;
    this.#doneInRun[slot] = 0;
  }

  /** @param startMs when its first instance begins. */
  start(slot: number, shape: number, resumeAt: number, startMs: number): void {
    this.#begin(slot, shape, resumeAt, startMs);
  }

  /**
   * Moves a query to other places; the instances in flight are lost.
   * @param startMs when it continues.
   */
  reshape(slot: number, shape: number, resumeAt: number, nowMs: number, startMs: number): void {
    const change = this.#table.sizeOf(shape) - this.#table.sizeOf(this.#shape[slot] ?? 0);
    if (change < 0) this.shrinks++;
    else if (change > 0) this.grows++;
    this.reconfigurations++;
    this.instancesRedone += this.#inFlight(slot, nowMs);
    this.#begin(slot, shape, resumeAt, startMs);
  }

  /** Index of its pipeline among those of all models and shapes. */
  pipeline(slot: number): number {
    return (this.#model[slot] ?? 0) * this.#table.shapeCount + (this.#shape[slot] ?? 0);
  }

  /** Instances of the run, including finished ones. */
  instances(slot: number): number {
    return (this.#batch[slot] ?? 0) - (this.#doneBefore[slot] ?? 0);
  }

  /** When the next instance leaves the pipeline without contention. */
  nextMs(slot: number): number {
    return (this.#runMs[slot] ?? Number.NaN) + (this.#nextMs[slot] ?? Number.NaN);
  }

  /** Time since the previous instance, or since the start of the run. */
  stepMs(slot: number): number {
    return (this.#nextMs[slot] ?? Number.NaN) - (this.#lastMs[slot] ?? Number.NaN);
  }

  /**
   * Records that the next instance has left the pipeline.
   * @returns whether it was the last.
   */
  leavePipeline(slot: number): boolean {
    const out = (this.#outOfRun[slot] ?? 0) + 1;
    this.#outOfRun[slot] = out;
    if (out === this.instances(slot)) return true;
    this.#lastMs[slot] = this.#nextMs[slot] ?? Number.NaN;
    this.#nextMs[slot] = this.#times.doneMs(slot, out + 1);
    return false;
  }

  /** Records that one more instance is finished. */
  finishInstance(slot: number): void {
    this.#doneInRun[slot] = (this.#doneInRun[slot] ?? 0) + 1;
  }

  end(slot: number): void {
    this.#times.end(slot);
  }

  #begin(slot: number, shape: number, resumeAt: number, startMs: number): void {
    const done = (this.#doneBefore[slot] ?? 0) + (this.#doneInRun[slot] ?? 0);
    assert(resumeAt === done, "a query resumes at its first unfinished instance");
    this.#shape[slot] = shape;
    this.#doneBefore[slot] = resumeAt;
    this.#doneInRun[slot] = 0;
    this.#outOfRun[slot] = 0;
    this.#runMs[slot] = startMs;
    this.#times.begin(slot, this.#model[slot] ?? 0, shape);
    this.#lastMs[slot] = 0;
    this.#nextMs[slot] = this.#times.doneMs(slot, 1);
  }

  /** Instances that have begun and are not finished: one begins with every step of the pipeline. */
  #inFlight(slot: number, nowMs: number): number {
    const ranMs = nowMs - (this.#runMs[slot] ?? Number.NaN);
    if (ranMs < 0) return 0;
    const stepMs = this.#stepMs[this.pipeline(slot)] ?? Number.NaN;
    const begun = Math.min(this.instances(slot), 1 + Math.floor(ranMs / stepMs));
    return Math.max(0, begun - (this.#doneInRun[slot] ?? 0));
  }
}

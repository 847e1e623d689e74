/** Keeps how far queries are, on which places, and when they will be done. */
import { assert } from "../../../core/assert.ts";
import { NONE, type PipelineTable } from "./pipeline-table.ts";
import type { PlacePaces } from "./place-paces.ts";

/** Query of a model. */
export interface AccordionQuery {
  /** Index among the variants. */
  readonly model: number;
  /** Instances, 1 to the policy's `maxBatch`. */
  readonly batch: number;
  readonly isHigh: boolean;
  readonly deadlineMs: number;
}

/**
 * Queries that wait or run, by the driver's name for them: how far they are, on which places, and
 * when they will be done.
 */
export class QueryRuns {
  readonly #table: PipelineTable;
  readonly #model: Uint16Array;
  readonly #batch: Uint16Array;
  readonly #isHigh: Uint8Array;
  readonly #isKnown: Uint8Array;
  readonly #openedMs: Float64Array;
  readonly #deadlineMs: Float64Array;
  /** Instances that are done, now and when the present run began. */
  readonly #done: Uint16Array;
  readonly #from: Uint16Array;
  /** When it will be done, predicted at its last instance or, before the first, at its start. */
  readonly #finishMs: Float64Array;
  /** When its last instance was done, or its run began; NaN where the next is not measured. */
  readonly #sinceMs: Float64Array;
  readonly #paces: PlacePaces;
  /** NONE while it waits. */
  readonly #shape: Int32Array;
  readonly #losses: Uint8Array;
  /** [queryCapacity, maxDepth]: its places in the order of the stages. */
  readonly #places: Uint16Array;
  /** Queries that run, in no order, and where in that list each is. */
  readonly #active: Uint32Array;
  readonly #activeAt: Uint32Array;
  #activeCount = 0;

  readonly toleranceMs: number;

  constructor(table: PipelineTable, queryCapacity: number, placeCount: number, paces: PlacePaces) {
    this.#table = table;
    this.toleranceMs = table.toleranceMs;
    this.#paces = paces;
    this.#sinceMs = new Float64Array(queryCapacity);
    this.#model = new Uint16Array(queryCapacity);
    this.#batch = new Uint16Array(queryCapacity);
    this.#isHigh = new Uint8Array(queryCapacity);
    this.#isKnown = new Uint8Array(queryCapacity);
    this.#openedMs = new Float64Array(queryCapacity);
    this.#deadlineMs = new Float64Array(queryCapacity);
    this.#done = new Uint16Array(queryCapacity);
    this.#from = new Uint16Array(queryCapacity);
    this.#finishMs = new Float64Array(queryCapacity);
    this.#shape = new Int32Array(queryCapacity).fill(NONE);
    this.#losses = new Uint8Array(queryCapacity);
    this.#places = new Uint16Array(queryCapacity * table.maxDepth);
    this.#active = new Uint32Array(placeCount);
    this.#activeAt = new Uint32Array(queryCapacity);
  }

  get activeCount(): number {
    return this.#activeCount;
  }

  /** A query that runs. @param index below `activeCount`. */
  active(index: number): number {
    return this.#active[index]!;
  }

  isKnown(query: number): boolean {
    return this.#isKnown[query] === 1;
  }

  isActive(query: number): boolean {
    return this.#shape[query] !== NONE;
  }

  model(query: number): number {
    return this.#model[query]!;
  }

  isHigh(query: number): boolean {
    return this.#isHigh[query] === 1;
  }

  /** When the query arrived. */
  openedMs(query: number): number {
    return this.#openedMs[query]!;
  }

  deadlineMs(query: number): number {
    return this.#deadlineMs[query]!;
  }

  done(query: number): number {
    return this.#done[query]!;
  }

  /** Instances that are not done. */
  left(query: number): number {
    return this.#batch[query]! - this.#done[query]!;
  }

  shape(query: number): number {
    return this.#shape[query]!;
  }

  place(query: number, stage: number): number {
    return this.#places[query * this.#table.maxDepth + stage]!;
  }

  setPlace(query: number, stage: number, place: number): void {
    this.#places[query * this.#table.maxDepth + stage] = place;
  }

  /** The query begins to wait. */
  open(query: number, { model, batch, isHigh, deadlineMs }: AccordionQuery, nowMs: number): void {
    assert(this.#isKnown[query] === 0, "a name that is used is free");
    assert(batch >= 1 && batch <= this.#table.maxBatch, "a query has 1 to maxBatch instances");
    this.#isKnown[query] = 1;
    this.#model[query] = model;
    this.#batch[query] = batch;
    this.#isHigh[query] = isHigh ? 1 : 0;
    this.#openedMs[query] = nowMs;
    this.#deadlineMs[query] = deadlineMs;
    this.#done[query] = 0;
    this.#losses[query] = 0;
  }

  /**
   * Called when the query begins to run, or goes on with other places, which are set.
   * @param startMs when its next instance begins.
   * @param isMeasured whether the time of its first instance shows the places' pace.
   */
  run(query: number, shape: number, startMs: number, isMeasured: boolean): void {
    if (this.#shape[query] === NONE) {
      this.#activeAt[query] = this.#activeCount;
      this.#active[this.#activeCount++] = query;
    }
    this.#shape[query] = shape;
    this.#from[query] = this.#done[query]!;
    this.#sinceMs[query] = isMeasured ? startMs : Number.NaN;
    this.#finishMs[query] = this.#endMs(query, startMs, this.left(query), 0);
  }

  /** @returns whether it was the last one. */
  finishInstance(query: number, nowMs: number): boolean {
    assert(this.isActive(query), "instances of a query that runs are done");
    const done = ++this.#done[query]!;
    const batch = this.#batch[query]!;
    const from = this.#from[query]!;
    const [model, shape] = [this.#model[query]!, this.#shape[query]!];
    const inRun = done - from;
    const beforeMs = inRun === 1 ? 0 : this.#table.latencyMs(model, shape, inRun - 1);
    const foretoldMs = this.#table.latencyMs(model, shape, inRun) - beforeMs;
    const ranMs = nowMs - this.#sinceMs[query]!;
    this.#paces.ran(this.#slowest(query), model, shape, ranMs, foretoldMs, nowMs);
    this.#sinceMs[query] = nowMs;
    this.#finishMs[query] = this.#endMs(query, nowMs, batch - from, inRun);
    return done === batch;
  }

  /** The query runs no more; it may wait again. */
  stop(query: number): void {
    const at = this.#activeAt[query]!;
    const last = this.#active[--this.#activeCount]!;
    this.#active[at] = last;
    this.#activeAt[last] = at;
    this.#shape[query] = NONE;
  }

  close(query: number): void {
    this.#isKnown[query] = 0;
  }

  /** @returns the number of its losses of places. */
  countLoss(query: number): number {
    return ++this.#losses[query]!;
  }

  /** Time left for a query on a shape, restarted on the fastest places that are up, ms. */
  timeLeftMs(query: number, shape: number): number {
    const model = this.#model[query]!;
    const profiledMs = this.#table.latencyMs(model, shape, this.left(query));
    return profiledMs * this.#paces.ofShape(model, shape);
  }

  /** Time left on the fastest free places, ms. */
  timeLeftFreeMs(query: number, shape: number): number {
    if (this.#paces.isEven) return this.timeLeftMs(query, shape);
    const model = this.#model[query]!;
    const profiledMs = this.#table.latencyMs(model, shape, this.left(query));
    return profiledMs * this.#paces.ofFree(model, shape);
  }

  /** The place of a running query that sets the step of its pipeline. */
  #slowest(query: number): number {
    let slowest = this.place(query, 0);
    if (this.#paces.isEven) return slowest;
    for (let stage = 1; stage < this.#table.sizeOf(this.#shape[query]!); stage++) {
      const place = this.place(query, stage);
      if (this.#paces.of(place) > this.#paces.of(slowest)) slowest = place;
    }
    return slowest;
  }

  /** When the instances of a run are done on its places, if some of them are at a time. */
  #endMs(query: number, fromMs: number, instances: number, done: number): number {
    const [model, shape] = [this.#model[query]!, this.#shape[query]!];
    const pace = this.#paces.on(this.#paces.of(this.#slowest(query)), model, shape);
    const wholeMs = this.#table.latencyMs(model, shape, instances) * pace;
    if (done === 0) return fromMs + wholeMs;
    return fromMs + wholeMs - this.#table.latencyMs(model, shape, done) * pace;
  }

  /** When a query that runs will be done as it is. */
  finishMs(query: number, nowMs: number): number {
    return Math.max(nowMs, this.#finishMs[query]!);
  }
}

/** Gives queries the places of their shapes, and takes them back. */
import type { AccordionCommands } from "./commands.ts";
import { NONE, type PipelineTable } from "./pipeline-table.ts";
import type { PlaceLedger } from "./place-ledger.ts";
import type { PlacePaces } from "./place-paces.ts";
import type { QueryRuns } from "./query-runs.ts";

/** Gives queries the places of their shapes, in the order of the stages, and takes them back. */
export class PlaceKeeper {
  readonly #table: PipelineTable;
  readonly #ledger: PlaceLedger;
  readonly #runs: QueryRuns;
  readonly #paces: PlacePaces;
  /** Places that the query at hand keeps. */
  readonly #kept: Int32Array;

  constructor(table: PipelineTable, ledger: PlaceLedger, runs: QueryRuns, paces: PlacePaces) {
    this.#table = table;
    this.#paces = paces;
    this.#ledger = ledger;
    this.#runs = runs;
    this.#kept = new Int32Array(ledger.placeCount);
  }

  /** A query that waited begins to run. */
  start(query: number, shape: number, nowMs: number, out: AccordionCommands): void {
    out.start(query, shape, this.#runs.done(query));
    this.#fill(query, shape, 0, out);
    this.#runs.run(query, shape, nowMs, true);
  }

  /**
   * Gives a running query another shape, and keeps its places as far as the shape has them. Places
   * that are down no longer belong to it.
   * @param startMs when it goes on.
   */
  reshape(query: number, shape: number, startMs: number, out: AccordionCommands): void {
    const keptCount = this.#keep(query, shape);
    out.reshape(query, shape, this.#runs.done(query));
    this.#fill(query, shape, keptCount, out);
    this.#runs.run(query, shape, startMs, false);
  }

  /** A query that waited for the places of a running one gets them: they are of its model. */
  handOver(query: number, next: number, nowMs: number, out: AccordionCommands): void {
    const runs = this.#runs;
    const shape = runs.shape(query);
    out.start(next, shape, runs.done(next));
    for (let stage = 0; stage < this.#table.sizeOf(shape); stage++) {
      const place = runs.place(query, stage);
      this.#ledger.handOver(place, next);
      runs.setPlace(next, stage, place);
      out.appendPlace(place);
    }
    runs.stop(query);
    runs.run(next, shape, nowMs, true);
  }

  /** Stops a running query: its places that are not down become free. */
  stop(query: number): void {
    const size = this.#table.sizeOf(this.#runs.shape(query));
    for (let stage = 0; stage < size; stage++) {
      const place = this.#runs.place(query, stage);
      if (this.#ledger.holder(place) === query) this.#ledger.release(place);
    }
    this.#runs.stop(query);
  }

  /** Finds a place for each stage: a kept one, otherwise a free one. */
  #fill(query: number, shape: number, keptCount: number, out: AccordionCommands): void {
    const model = this.#runs.model(query);
    for (let stage = 0; stage < this.#table.sizeOf(shape); stage++) {
      const placeClass = this.#table.classOfStage(model, shape, stage);
      const kept = this.#nextKept(keptCount, placeClass);
      const place = kept === NONE ? this.#take(placeClass, query) : kept;
      this.#runs.setPlace(query, stage, place);
      out.appendPlace(place);
    }
  }

  #take(placeClass: number, query: number): number {
    if (this.#paces.isEven) return this.#ledger.take(placeClass, query);
    return this.#ledger.take(placeClass, query, this.#paces.fastestFree(placeClass));
  }

  /**
   * Notes the places that a query keeps in a shape, in the order of its stages, and frees the
   * others.
   * @returns how many it keeps.
   */
  #keep(query: number, shape: number): number {
    const { classOfPlace } = this.#ledger;
    const size = this.#table.sizeOf(this.#runs.shape(query));
    let keptCount = 0;
    for (let stage = 0; stage < size; stage++) {
      const place = this.#runs.place(query, stage);
      if (this.#ledger.holder(place) !== query) continue;
      let alike = 0;
      for (let index = 0; index < keptCount; index++) {
        if (classOfPlace[this.#kept[index]!] === classOfPlace[place]) alike++;
      }
      if (alike < this.#table.countOf(shape, classOfPlace[place]!)) this.#kept[keptCount++] = place;
      else this.#ledger.release(place);
    }
    return keptCount;
  }

  /** Takes the first kept place of a class; NONE if no kept place is left. */
  #nextKept(keptCount: number, placeClass: number): number {
    for (let index = 0; index < keptCount; index++) {
      const place = this.#kept[index]!;
      if (place === NONE || this.#ledger.classOfPlace[place] !== placeClass) continue;
      this.#kept[index] = NONE;
      return place;
    }
    return NONE;
  }
}

/** Notes what a scheduler of places decides about every query, and who holds the places then. */
import {
  type AccordionCommands,
  DROP,
} from "stratagem-runtime/internal/methods/accordion/core/commands";
import type { AccordionQuery } from "stratagem-runtime/internal/methods/accordion/core/query-runs";
import { AccordionScheduler } from "stratagem-runtime/internal/methods/accordion/core/scheduler";

/** A query, how things were when it came, and what it then had. */
export interface WatchedQuery extends AccordionQuery {
  readonly cameMs: number;
  readonly freePlaces: number;
  /** Others that waited. */
  readonly waiting: number;
  /** Places that others had. */
  readonly highPlaces: number;
  readonly lowPlaces: number;
  done: number;
  /** Starts and changes, and with 0 places what gave it up or ended it. */
  readonly steps: { readonly atMs: number; readonly places: number }[];
}

/** A scheduler whose decisions are noted, in the order in which the queries come. */
export class WatchedScheduler extends AccordionScheduler {
  readonly watched: WatchedQuery[] = [];
  /** By the names of the driver. */
  readonly #byName = new Map<number, WatchedQuery>();

  override onQuery(
    name: number,
    asked: AccordionQuery,
    nowMs: number,
    out: AccordionCommands,
  ): void {
    const query: WatchedQuery = {
      ...asked,
      cameMs: nowMs,
      freePlaces: this.readyPlaceCount - this.busyPlaceCount,
      waiting: this.waitingCount,
      highPlaces: this.#held(true),
      lowPlaces: this.#held(false),
      done: 0,
      steps: [],
    };
    this.watched.push(query);
    this.#byName.set(name, query);
    super.onQuery(name, asked, nowMs, out);
    this.#note(nowMs, out);
  }

  override onInstanceDone(name: number, nowMs: number, out: AccordionCommands): void {
    const query = this.#byName.get(name);
    if (query !== undefined && ++query.done === query.batch) this.#end(name, query, nowMs);
    super.onInstanceDone(name, nowMs, out);
    this.#note(nowMs, out);
  }

  override onWake(nowMs: number, out: AccordionCommands): void {
    super.onWake(nowMs, out);
    this.#note(nowMs, out);
  }

  #note(nowMs: number, out: AccordionCommands): void {
    for (let command = 0; command < out.count; command++) {
      const name = out.query(command);
      const query = this.#byName.get(name);
      if (query === undefined) continue;
      if (out.kind(command) === DROP) this.#end(name, query, nowMs);
      else query.steps.push({ atMs: nowMs, places: out.placeCount(command) });
    }
  }

  #end(name: number, query: WatchedQuery, nowMs: number): void {
    query.steps.push({ atMs: nowMs, places: 0 });
    this.#byName.delete(name);
  }

  #held(isHigh: boolean): number {
    let places = 0;
    for (const query of this.#byName.values()) {
      if (query.isHigh === isHigh) places += query.steps.at(-1)?.places ?? 0;
    }
    return places;
  }
}

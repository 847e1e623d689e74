/**
 * Who is let in: a request that would not be answered in time is refused before its body is read,
 * which costs a small part of what serving it would.
 */
import { Admission, LOW_SHARE } from "../../core/admission.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import type { Outcome } from "../requests/request.ts";

interface EntryTimes {
  readonly arrivalMs: number;
  readonly sloMs: number;
}

/** A request that was let in. */
export interface Entry extends EntryTimes {
  /** 0 of one that makes no crowd. */
  readonly queries: number;
  readonly found: number;
}

/** One for all models of an endpoint, for they share its workers. */
export class Gate {
  readonly #admission: Admission;

  /** @param maxPending rows that wait or run at most. @param workers of the cluster. */
  constructor(maxPending: number, workers: number, sloMs: number) {
    this.#admission = new Admission({ maxLimit: maxPending, workers, sloMs });
  }

  /** Whether a request that has just arrived has to go, whatever it asks. */
  isShut(model: EndpointModel): boolean {
    return model.isFull === undefined ? !this.#admission.hasRoom() : model.isFull();
  }

  /** Whether a request that was read may come in. */
  admits(model: EndpointModel, rows: number, isHigh: boolean): boolean {
    if (model.isFull !== undefined) return true;
    // What is given up in time comes in wherever one that is not would.
    if (model.givesUpLow === true) return this.#admission.hasRoom();
    return this.#admission.hasRoom(queriesOf(model, rows), isHigh ? 1 : LOW_SHARE);
  }

  enter(model: EndpointModel, rows: number, isHigh: boolean, times: EntryTimes): Entry {
    const queries = model.givesUpLow === true && !isHigh ? 0 : queriesOf(model, rows);
    return { queries, found: this.#admission.enter(queries), ...times };
  }

  leave({ queries, found, arrivalMs, sloMs }: Entry, outcome: Outcome, nowMs: number): void {
    if (queries === 0) return;
    const share = (nowMs - arrivalMs) / sloMs;
    if (outcome.kind === "answered") {
      this.#admission.leave(queries, found, share, nowMs);
    } else if (outcome.reason === "late") {
      this.#admission.leave(queries, found, Math.max(1, share), nowMs);
    } else this.#admission.forget(queries);
  }
}

/** A large query that is one is late by its own size, which says nothing of who else may come. */
function queriesOf({ isWhole }: EndpointModel, rows: number): number {
  return isWhole === true ? 1 : rows;
}

/**
 * Who is let in: a request that would not be answered in time is refused before its body is read,
 * which costs a small part of what serving it would.
 */
import { Admission } from "../../core/admission.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import type { Outcome } from "../requests/request.ts";

/** Of what may be in, what requests of low priority may fill. */
const LOW_SHARE = 0.7;

/** A request that was let in. */
export interface Entry {
  readonly queries: number;
  readonly found: number;
  readonly arrivalMs: number;
  readonly sloMs: number;
}

/** One for all models of an endpoint, for they share its workers. */
export class Gate {
  readonly #admission: Admission;

  /** @param maxPending rows that wait or run at most. @param workers of the cluster. */
  constructor(maxPending: number, workers: number, sloMs: number) {
    this.#admission = new Admission({ maxLimit: maxPending, workers, sloMs });
  }

  /** Whether nothing waits or runs. */
  get isEmpty(): boolean {
    return this.#admission.inside === 0;
  }

  /** Whether a request that has just arrived has to go, whatever it asks. */
  isShut(model: EndpointModel): boolean {
    return model.isFull === undefined ? !this.#admission.hasRoom() : model.isFull();
  }

  /** Whether a request that was read may come in. */
  admits(model: EndpointModel, rows: number, isHigh: boolean): boolean {
    if (model.isFull !== undefined) return true;
    return this.#admission.hasRoom(queriesOf(model, rows), isHigh ? 1 : LOW_SHARE);
  }

  enter(model: EndpointModel, rows: number, arrivalMs: number, sloMs: number): Entry {
    const queries = queriesOf(model, rows);
    return { queries, found: this.#admission.enter(queries), arrivalMs, sloMs };
  }

  leave({ queries, found, arrivalMs, sloMs }: Entry, outcome: Outcome, nowMs: number): void {
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

/**
 * Who is let in: a request that would not be answered in time is refused before its body is read,
 * which costs a small part of what serving it would.
 */
import type { ServerResponse } from "node:http";
import { Admission } from "../core/admission.ts";
import type { EndpointModel } from "./endpoint.ts";
import type { Outcome } from "./request.ts";

/** Of what may be in, what requests of low priority may fill. */
const LOW_SHARE = 0.7;

/** Rows that were let in. */
export interface Entry {
  readonly rows: number;
  readonly found: number;
  readonly arrivalMs: number;
  readonly sloMs: number;
}

/** One for all models of an endpoint, for they share its workers. */
export class Gate {
  readonly #admission: Admission;

  /** @param maxPending rows that wait or run at most. */
  constructor(maxPending: number) {
    this.#admission = new Admission({ maxLimit: maxPending });
  }

  /** Whether a request that has just arrived has to go, whatever it asks. */
  isShut(model: EndpointModel): boolean {
    return model.isFull === undefined ? !this.#admission.hasRoom() : model.isFull();
  }

  /** Whether a request that was read may come in. */
  admits(model: EndpointModel, isHigh: boolean): boolean {
    if (model.isFull !== undefined) return true;
    return this.#admission.hasRoom(isHigh ? 1 : LOW_SHARE);
  }

  enter(rows: number, arrivalMs: number, sloMs: number): Entry {
    return { rows, found: this.#admission.enter(rows), arrivalMs, sloMs };
  }

  leave({ rows, found, arrivalMs, sloMs }: Entry, outcome: Outcome, nowMs: number): void {
    const share = (nowMs - arrivalMs) / sloMs;
    if (outcome.kind === "answered") this.#admission.leave(rows, found, share);
    else if (outcome.reason === "late") this.#admission.leave(rows, found, Math.max(1, share));
    else this.#admission.forget(rows);
  }
}

const FULL = refusal(429, "no room: as many queries wait as may");
const LATE = refusal(503, "no room: the request would not be answered in time");

/**
 * Answers with what was made before. The body of the request, if it is still to come, is read and
 * forgotten.
 */
export function turnAway(model: EndpointModel, response: ServerResponse): void {
  const { status, headers, body } = model.isFull === undefined ? LATE : FULL;
  response.writeHead(status, headers);
  response.end(body);
}

function refusal(status: number, error: string) {
  const body = Buffer.from(JSON.stringify({ error }));
  const length = ["content-length", String(body.length)];
  return {
    status,
    headers: ["content-type", "application/json", ...length, "retry-after", "1"],
    body,
  };
}

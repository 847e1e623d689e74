/**
 * Who is let in: a request that would not be answered in time is refused before its body is read,
 * which costs a small part of what serving it would.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Admission } from "../../core/admission.ts";
import type { EndpointModel } from "../requests/endpoint.ts";
import type { Outcome } from "../requests/request.ts";

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

  /** @param maxPending rows that wait or run at most. @param workers of the cluster. */
  constructor(maxPending: number, workers: number) {
    this.#admission = new Admission({ maxLimit: maxPending, workers });
  }

  /** Whether a request that has just arrived has to go, whatever it asks. */
  isShut(model: EndpointModel): boolean {
    return model.isFull === undefined ? !this.#admission.hasRoom() : model.isFull();
  }

  /** Whether a request that was read may come in. */
  admits(model: EndpointModel, rows: number, isHigh: boolean): boolean {
    if (model.isFull !== undefined) return true;
    return this.#admission.hasRoom(rows, isHigh ? 1 : LOW_SHARE);
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

/** A body of a refused request up to this is read and forgotten; of a longer one the way is cut. */
const MAX_FORGOTTEN_BYTES = 1 << 20;

const FULL = refusal(429, "no room: as many queries wait as may");
const LATE = refusal(503, "no room: the request would not be answered in time");

/**
 * Whether what is still to come of a request is so little that its connection is kept. A client
 * that was to be told to go on sends nothing more of it, so there its way is cut.
 */
export function mayStay({ headers }: IncomingMessage): boolean {
  if (headers.expect !== undefined) return false;
  return Number(headers["content-length"]) <= MAX_FORGOTTEN_BYTES;
}

/**
 * Answers with what was made before, in one write.
 * @param isBehind whether it is for the server and not for the queue.
 * @returns the status.
 */
export function turnAway(
  model: EndpointModel,
  isBehind: boolean,
  response: ServerResponse,
): number {
  const { status, headers, body } = isBehind || model.isFull === undefined ? LATE : FULL;
  response.writeHead(status, headers);
  response.end(body, "latin1");
  return status;
}

/** Headers and body; a text is sent together with its headers. */
function refusal(status: number, error: string) {
  const body = JSON.stringify({ error });
  const length = ["content-length", String(body.length)];
  const headers = ["content-type", "application/json", ...length, "retry-after", "1"];
  return { status, headers, body };
}

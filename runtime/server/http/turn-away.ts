/** Refuses a request at the door with what was made before, in one write. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ShutDoor } from "../applications/inference.ts";

/** A body of a refused request up to this is read and forgotten; of a longer one the way is cut. */
const MAX_FORGOTTEN_BYTES = 1 << 20;

/**
 * Whether what is still to come of a request is so little that its connection is kept. A client
 * that was to be told to go on sends nothing more of it, so there its way is cut.
 */
export function mayStay({ headers }: IncomingMessage): boolean {
  if (headers.expect !== undefined) return false;
  return Number(headers["content-length"]) <= MAX_FORGOTTEN_BYTES;
}

interface Refusal {
  readonly headers: readonly string[];
  readonly body: string;
}

const REFUSALS = new Map<ShutDoor, Refusal>();

/** @returns the status. */
export function turnAway(shut: ShutDoor, response: ServerResponse): number {
  let refusal = REFUSALS.get(shut);
  if (refusal === undefined) {
    refusal = refusalOf(shut);
    REFUSALS.set(shut, refusal);
  }
  response.writeHead(shut.status, [...refusal.headers]);
  response.end(refusal.body, "latin1");
  return shut.status;
}

/** Headers and body; a text is sent together with its headers. */
function refusalOf({ message }: ShutDoor): Refusal {
  const body = JSON.stringify({ error: message });
  const length = ["content-length", String(body.length)];
  return { headers: ["content-type", "application/json", ...length, "retry-after", "1"], body };
}

/** Deadline of an answer, from the remaining time that a request states. */
import { HttpError } from "../server/connections/http-error.ts";

/** Header with the remaining milliseconds at the time the request was sent. */
export const DEADLINE = "stratagem-deadline-ms";

const FORM = /^\d{1,10}(?:\.\d{1,6})?$/;

/** Returns Infinity without the header. @throws HttpError 400 */
export function deadlineMs(
  header: string | readonly string[] | undefined,
  arrivalMs: number,
): number {
  if (header === undefined) return Number.POSITIVE_INFINITY;
  const text = String(header);
  if (FORM.test(text)) return arrivalMs + Number(text);
  throw new HttpError(400, `${DEADLINE}: expected milliseconds such as 12.5, got "${text}"`);
}

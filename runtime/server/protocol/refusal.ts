/** Failed requests: the answer to the client, and the notice to operators where it is a fault. */

import type { Notice } from "../../base/notice.ts";
import { HttpError } from "../connections/http-error.ts";
import { BadRequest } from "../tensors/bad-request.ts";

/** Converts an error to an HTTP status; other protocols map the statuses to their codes. */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof BadRequest) return new HttpError(400, error.message);
  const message = error instanceof Error ? error.message : String(error);
  return new HttpError(500, `internal error: ${message}`);
}

/**
 * Reports an error to operators: unexpected ones are faults of this server; models and workers have
 * their own reports.
 * @param id of the request; undefined without one. @param reason the value thrown.
 * @param answer the error that the client gets.
 */
export function reportFault(
  onNotice: Notice,
  id: string | undefined,
  reason: unknown,
  answer: HttpError,
): void {
  if (answer.status < 500) return;
  const whose = id === undefined ? "a request" : `request ${id}`;
  const isMeant = reason instanceof HttpError;
  onNotice(`${whose}: ${answer.status} ${answer.message}`, isMeant ? "debug" : "error");
}

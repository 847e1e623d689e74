/** Failed requests: the answer to the client, and the notice to operators where it is a fault. */

import type { Notice } from "../../base/notice.ts";
import { HttpError } from "../connections/http-error.ts";
import { BadRequest } from "../tensors/bad-request.ts";

/** The status says what it is; other protocols have one for each. */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof BadRequest) return new HttpError(400, error.message);
  const message = error instanceof Error ? error.message : String(error);
  return new HttpError(500, `internal error: ${message}`);
}

/**
 * What is no answer that was meant is a fault of ours; models and workers have others.
 * @param id of the request; undefined where it has none. @param reason what was thrown.
 * @param told what its client is told.
 */
export function reportFault(
  onNotice: Notice,
  id: string | undefined,
  reason: unknown,
  told: HttpError,
): void {
  if (told.status < 500) return;
  const whose = id === undefined ? "a request" : `request ${id}`;
  const isMeant = reason instanceof HttpError;
  onNotice(`${whose}: ${told.status} ${told.message}`, isMeant ? "debug" : "error");
}

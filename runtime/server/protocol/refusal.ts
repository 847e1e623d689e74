/** Whatever ends a request without an answer, as what its client is told. */
import { HttpError } from "../connections/http-error.ts";
import { BadRequest } from "../tensors/bad-request.ts";

/** The status says what it is; other protocols have one for each. */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof BadRequest) return new HttpError(400, error.message);
  const message = error instanceof Error ? error.message : String(error);
  return new HttpError(500, `internal error: ${message}`);
}

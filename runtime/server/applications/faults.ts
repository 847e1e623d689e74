/** Tells operators of requests that a fault of the server, a model or a worker ended. */
import { HttpError } from "../connections/http-error.ts";
import type { House } from "./house.ts";

/**
 * What is no answer that was meant is a fault of ours; models and workers have others.
 * @param id of the request; undefined where it has none. @param reason what was thrown.
 * @param told what its client is told.
 */
export function tellFault(
  { onNotice }: Pick<House, "onNotice">,
  id: string | undefined,
  reason: unknown,
  told: HttpError,
): void {
  if (told.status < 500) return;
  const whose = id === undefined ? "a request" : `request ${id}`;
  const isMeant = reason instanceof HttpError;
  onNotice(`${whose}: ${told.status} ${told.message}`, isMeant ? "debug" : "error");
}

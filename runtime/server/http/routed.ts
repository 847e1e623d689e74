/** Which model answers an HTTP request: one that is served, or one that is tried beside it. */
import type { IncomingMessage } from "node:http";
import type { HostedModel } from "../applications/hosted-model.ts";
import { REQUEST_ID, requestIdOf } from "../telemetry/request-id.ts";
import type { HttpContext } from "./context.ts";

/** @param hosted the one that is served. */
export function routed(
  { house }: Pick<HttpContext, "house">,
  hosted: HostedModel,
  request: IncomingMessage,
): HostedModel {
  return house.trials.routed(hosted, request, () => requestIdOf(request.headers[REQUEST_ID]));
}

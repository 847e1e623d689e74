/** Triton's logging and trace extensions: settings that operators see and change. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { changeLog, logSettings } from "../applications/log-settings.ts";
import { changeTraces, traceSettings } from "../applications/trace-settings.ts";
import { HttpError } from "../connections/http-error.ts";
import type { HttpContext } from "./context.ts";
import { expectMethod, sendJson } from "./replies.ts";
import { smallJson } from "./small-json.ts";

/** @param path behind `/v2`. */
export function isOfSettings([first, , third]: readonly string[]): boolean {
  return first === "logging" || first === "trace" || (first === "models" && third === "trace");
}

/** @param path behind `/v2`. @throws HttpError, BadRequest */
export async function routeSettings(
  context: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { house } = context;
  const { method: verb } = request;
  const isOfModel = path[0] === "models";
  const [page, ...rest] = isOfModel ? path.slice(2) : path;
  const isLogging = page === "logging";
  if (isLogging ? rest.length > 0 : rest.length !== 1 || rest[0] !== "setting") {
    throw new HttpError(404, `no such path: ${request.url}`);
  }
  const model = isOfModel ? path[1] : undefined;
  expectMethod(request, "GET or POST");
  let settings: object;
  if (verb === "POST") {
    const asked = await smallJson(context, request);
    settings = isLogging ? changeLog(house, asked) : changeTraces(house, asked, model);
  } else settings = isLogging ? logSettings(house) : traceSettings(house, model);
  sendJson(context, response, 200, settings);
}

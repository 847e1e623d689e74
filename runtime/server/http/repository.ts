/** Triton's model repository extension: the model index, and reloads of applications' bundles. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { loadModel, refuseUnload, repositoryIndex } from "../applications/repository.ts";
import { HttpError } from "../connections/http-error.ts";
import type { HttpContext } from "./context.ts";
import { expectMethod, sendJson } from "./replies.ts";
import { smallJson } from "./small-json.ts";

/** @param path behind `/v2/repository`. @throws HttpError, BadRequest */
export async function routeRepository(
  context: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [what, name = "", action = ""] = path;
  const isIndex = what === "index" && path.length === 1;
  const isChange = what === "models" && path.length === 3;
  if (!isIndex && !(isChange && (action === "load" || action === "unload"))) {
    throw new HttpError(404, `no such path: ${request.url}`);
  }
  expectMethod(request, "POST");
  const asked = await smallJson(context, request);
  if (isIndex) {
    sendJson(context, response, 200, repositoryIndex(context.state, asked["ready"] === true));
  } else if (action === "load") {
    await loadModel(context.state, name, Object.keys(Object(asked["parameters"])));
    sendJson(context, response, 200, { name, load: true });
  } else refuseUnload(context.state, name);
}

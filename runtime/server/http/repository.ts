/**
 * Triton's model repository extension: the models there are, and reading an application's bundle
 * again.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { loadModel, refuseUnload, repositoryIndex } from "../applications/repository.ts";
import { readBody } from "../bodies/body.ts";
import { INDEX_LIMIT } from "../bodies/body-limits.ts";
import { HttpError } from "../connections/http-error.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { parseJson } from "../tensors/json-text.ts";
import type { HttpContext } from "./context.ts";
import { expectMethod, sendJson } from "./replies.ts";

type Fields = Readonly<Record<string, unknown>>;

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
    sendJson(context, response, 200, repositoryIndex(context.house, asked["ready"] === true));
  } else if (action === "load") {
    await loadModel(context.house, name, Object.keys(Object(asked["parameters"])));
    sendJson(context, response, 200, { name, load: true });
  } else refuseUnload(context.house, name);
}

async function smallJson({ pace, house }: HttpContext, request: IncomingMessage): Promise<Fields> {
  const hold = house.budget.hold();
  const body = await readBody(request, { limit: INDEX_LIMIT, pace, hold }).finally(() =>
    hold.release(),
  );
  return body.length === 0 ? {} : jsonObjectOf(body);
}

function jsonObjectOf(body: Uint8Array): Fields {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString();
  try {
    const value = parseJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Fields;
  } catch {
    // Told below, as any other text that is not an object.
  }
  throw new BadRequest("request", "expected a JSON object", text);
}

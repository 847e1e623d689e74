/** Reads short JSON bodies of requests other than inference. */
import type { IncomingMessage } from "node:http";
import { readBody } from "../bodies/body.ts";
import { type BodyLimit, SMALL_LIMIT } from "../bodies/body-memory.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { parseJson } from "../tensors/json-text.ts";
import type { HttpContext } from "./context.ts";
import type { Fields } from "./route.ts";

/**
 * @param limit default: that of small requests.
 * @returns an object without fields for an empty body. @throws BadRequest, HttpError
 */
export async function smallJson(
  { pace, state }: HttpContext,
  request: IncomingMessage,
  limit: BodyLimit = SMALL_LIMIT,
): Promise<Fields> {
  const hold = state.budget.hold(request.socket);
  const body = await readBody(request, { limit, pace, hold }).finally(() => hold.release());
  return body.length === 0 ? {} : jsonObjectOf(body);
}

function jsonObjectOf(body: Uint8Array): Fields {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString();
  try {
    const value = parseJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Fields;
  } catch {
    // Invalid JSON is rejected below, like any other text that is not an object.
  }
  throw new BadRequest("request", "expected a JSON object", text);
}

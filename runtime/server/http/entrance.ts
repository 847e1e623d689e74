/** What is decided of a request before anything is read or told: whether it may come in. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ANYBODY, type Decision } from "../access/access.ts";
import { isPreflight } from "../access/cors.ts";
import { needOf } from "../access/scopes.ts";
import { HttpError, reasonJson } from "../connections/http-error.ts";
import { hasUnreadBody } from "../connections/request-head.ts";
import { segmentsOf } from "../protocol/request-target.ts";
import type { HttpContext } from "./context.ts";
import type { Door } from "./doors.ts";
import { mayStay } from "./turn-away.ts";

/**
 * Lets a request in, at once unless its token takes time, or answers why not.
 * @param go called for a request that may come in, or is refused otherwise than in one write.
 */
export function enter(
  context: HttpContext,
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  go: (refusal?: HttpError) => void,
): void {
  const { access } = context.house;
  const { cors } = access;
  // The usual case, and anybody may ask for it.
  const isInference = context.inferred.has(request.url ?? "") && door.needs.has("infer");
  if (isInference && access.isIdle && cors === undefined) {
    go();
    return;
  }
  // Nothing of the header is looked at that nobody asks for.
  const origin = cors === undefined ? undefined : request.headers.origin;
  if (cors !== undefined && origin !== undefined) {
    cors.mark(origin, response);
    if (isPreflight(request)) {
      const answered = cors.answerPreflight(request, response);
      if (answered instanceof HttpError) go(answered);
      else context.counts.onTurnedAway(request, answered);
      return;
    }
  }
  const settle = (decision: Decision) => {
    if (decision instanceof HttpError) refuse(context, request, response, decision, go);
    else {
      if (decision !== ANYBODY) {
        if (decision.name !== undefined) context.clients.set(response, decision.name);
        response.once("close", decision.leave);
        // It may have closed while its token was looked at.
        if (response.destroyed) decision.leave();
      }
      go();
    }
  };
  let decision: Decision | Promise<Decision>;
  try {
    decision = decided(context, door, request);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    decision = error;
  }
  if (decision instanceof Promise) void decision.then(settle);
  else settle(decision);
}

/** @throws HttpError 400 for a path that is none. */
function decided(
  { house: { access }, inferred, routes, served }: HttpContext,
  door: Door,
  request: IncomingMessage,
): Decision | Promise<Decision> {
  const { url = "" } = request;
  const needAt = (path: readonly string[]) =>
    routes.find(path, request, served)?.route.need ?? needOf(path);
  const need = inferred.has(url) ? "infer" : needAt(segmentsOf(url));
  if (!door.needs.has(need)) return new HttpError(404, `no such path: ${url}`);
  // A page that somebody has opened in a browser of this machine is no administrator.
  const origin = need === "admin" ? request.headers.origin : undefined;
  if (origin !== undefined && access.cors?.allows(origin) !== true) {
    return access.refused("other_origin", 403, "pages in browsers may not administer");
  }
  if (access.isIdle && need !== "admin") return ANYBODY;
  const { authorization } = request.headers;
  const { remoteAddress: address } = request.socket;
  return access.admit({ need, authorization, address, isOwnDoor: door.isOwn });
}

/** In one write where little of the request is to come, which keeps the connection. */
function refuse(
  { house, counts }: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
  error: HttpError,
  go: (refusal: HttpError) => void,
): void {
  const isLong = hasUnreadBody(request) && !mayStay(request);
  if (isLong || house.isDraining || response.destroyed) {
    go(error);
    return;
  }
  const body = Buffer.from(reasonJson(error.message));
  response.writeHead(error.status, {
    ...error.headers,
    "content-type": "application/json",
    "content-length": body.length,
  });
  response.end(body);
  counts.onTurnedAway(request, error.status);
}

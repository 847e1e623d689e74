/** The listener for administrators: reading files again, the settings in force, what is served. */
import type { IncomingMessage } from "node:http";
import { HttpError } from "../connections/http-error.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import type { AdminHooks } from "./admin-hooks.ts";
import type { HttpContext } from "./context.ts";
import { smallJson } from "./small-json.ts";

/**
 * @param path segments after `admin`.
 * @returns the status and the document.
 * @throws HttpError, BadRequest
 */
export async function adminAnswer(
  context: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
  expectMethod: (allowed: "GET" | "POST" | "GET or POST") => void,
): Promise<readonly [status: number, document: object]> {
  const { admin } = context;
  const [action] = path;
  if (admin === undefined || path.length !== 1) throw noPath(request);
  if (action === "reload") {
    expectMethod("POST");
    return reloaded(admin, await askedApplication(context, request));
  }
  const document = action === undefined ? undefined : documentOf(admin, action);
  if (document === undefined) throw noPath(request);
  expectMethod("GET");
  return [200, document()];
}

function documentOf(admin: AdminHooks, action: string): (() => object) | undefined {
  if (action === "config") return () => admin.config();
  if (action === "state") return () => admin.state();
  return action === "policies" ? admin.policies : undefined;
}

async function reloaded(
  admin: AdminHooks,
  application: string | undefined,
): Promise<readonly [number, object]> {
  const result = await admin.reload(application);
  if (result === null) {
    throw new HttpError(404, `Request for unknown application: '${application}' is not found`);
  }
  const { isFollowed, notice, applications } = result;
  const outcomes = applications.map(({ isFollowed: followed, ...rest }) => ({ ...rest, followed }));
  const document = { followed: isFollowed, notice, applications: outcomes };
  return isFollowed ? [200, document] : [409, { error: notice, ...document }];
}

/** @returns undefined for all. */
async function askedApplication(
  context: HttpContext,
  request: IncomingMessage,
): Promise<string | undefined> {
  const { application, ...others } = await smallJson(context, request);
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new BadRequest(other, "expected no field but application", others[other]);
  if (application === undefined || typeof application === "string") return application;
  throw new BadRequest("application", "expected the name of an application", application);
}

function noPath({ url }: IncomingMessage): HttpError {
  return new HttpError(404, `no such path: ${url}`);
}

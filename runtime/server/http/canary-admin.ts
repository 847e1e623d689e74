/** What administrators are told of bundles on trial, and may do with them. */
import type { IncomingMessage } from "node:http";
import { HttpError } from "../connections/http-error.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { CANARY_ACTIONS, type CanaryHooks } from "./admin-hooks.ts";
import type { HttpContext } from "./context.ts";
import { type Fields, smallJson } from "./small-json.ts";

/**
 * @param hooks undefined where no bundle is tried.
 * @returns the status and the document. @throws HttpError, BadRequest
 */
export async function canaryAnswer(
  context: HttpContext,
  hooks: CanaryHooks | undefined,
  request: IncomingMessage,
): Promise<readonly [status: number, document: object]> {
  const { method: verb } = request;
  if (verb !== "POST") return [200, { canaries: hooks?.told() ?? [] }];
  const { action, application } = askedAction(await smallJson(context, request));
  const done = (await hooks?.act(action, application)) ?? null;
  if (done === null) {
    const whose = application === undefined ? "the only canary" : `the canary '${application}'`;
    throw new HttpError(404, `Request for unknown canary: ${whose} is not found`);
  }
  const { isDone, notice } = done;
  const document = { done: isDone, notice, canaries: hooks?.told() ?? [] };
  return isDone ? [200, document] : [409, { error: notice, ...document }];
}

function askedAction({ action, application, ...others }: Fields) {
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new BadRequest(other, "expected action and application alone", others[other]);
  }
  const known = CANARY_ACTIONS.find((one) => one === action);
  if (known === undefined) {
    throw new BadRequest("action", `expected ${CANARY_ACTIONS.join(", ")}`, action);
  }
  if (application !== undefined && typeof application !== "string") {
    throw new BadRequest("application", "expected the name of an application", application);
  }
  return { action: known, application };
}

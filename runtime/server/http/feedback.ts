/** Feedback of truth: what clients say of answers they got, and what is known of them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HostedModel } from "../applications/hosted-model.ts";
import { FEEDBACK_LIMIT } from "../bodies/body-limits.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import { readFeedback } from "../feedback/feedback-body.ts";
import { feedbackDocument } from "../feedback/feedback-document.ts";
import { takeFeedback } from "../feedback/several-books.ts";
import type { HttpContext } from "./context.ts";
import { expectMethod, sendJson } from "./replies.ts";
import { smallJson } from "./small-json.ts";

/** @throws HttpError, BadRequest */
export async function answerFeedback(
  context: HttpContext,
  hosted: HostedModel,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  expectMethod(request, "GET or POST");
  const { house } = context;
  const { feedback } = hosted;
  if (feedback === undefined) {
    throw new HttpError(501, "this server takes no feedback (limit feedbackRows=0)");
  }
  const { method: verb } = request;
  if (verb !== "POST") {
    sendJson(context, response, 200, feedbackDocument(feedback));
    return;
  }
  if (house.isDraining) throw new HttpError(503, "the server is shutting down", RETRY_LATER);
  const body = readFeedback(await smallJson(context, request, FEEDBACK_LIMIT));
  const client = context.clients.get(response) ?? "";
  const other = house.trials.besideOf(hosted)?.feedback;
  const taken = takeFeedback(feedback, other, body, client, house.nowMs());
  const { unknown, repeated, ...counted } = taken;
  const left = body.isList ? { unknown, repeated } : {};
  sendJson(context, response, 200, { ...counted, ...left });
}

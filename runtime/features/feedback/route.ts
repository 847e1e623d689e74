/** Route of feedback: GET reports a model's accuracy, POST takes feedback. */
import type { BodyLimit } from "../../server/bodies/body-memory.ts";
import { HttpError, RETRY_LATER } from "../../server/connections/http-error.ts";
import type { Asked, Reply, Route } from "../../server/http/route.ts";
import { readFeedback } from "./feedback-body.ts";
import type { FeedbackBooks } from "./feedback-books.ts";
import { feedbackDocument } from "./feedback-document.ts";
import { takeFeedback } from "./several-books.ts";

/** Body limit, enough for the maximum number of items. */
const BODY_LIMIT: BodyLimit = {
  bytes: 262_144,
  why: "the limit of feedback",
};

/** @param books undefined if feedback is disabled. */
export function feedbackRoute(books: FeedbackBooks | undefined): Route {
  return {
    paths: ["/v2/models/:model/feedback", "/v2/models/:model/versions/:version/feedback"],
    methods: "GET or POST",
    need: "infer",
    answer: (asked) => answerOf(books, asked),
  };
}

/** @throws HttpError, BadRequest */
async function answerOf(
  books: FeedbackBooks | undefined,
  { state, isPosted, hosted, client, json }: Asked,
): Promise<Reply> {
  const book = hosted === undefined ? undefined : books?.of(hosted);
  if (hosted === undefined || book === undefined) {
    throw new HttpError(
      501,
      "feedback is disabled on this server: expected --limit feedbackRows=N, such as 65536",
    );
  }
  if (!isPosted) return { status: 200, document: feedbackDocument(book) };
  if (state.isDraining) throw new HttpError(503, "the server is shutting down", RETRY_LATER);
  const body = readFeedback(await json(BODY_LIMIT));
  const beside = state.trials.besideOf(hosted);
  const other = beside === undefined ? undefined : books?.of(beside);
  const { unknown, repeated, ...counted } = takeFeedback(book, other, body, client, state.nowMs());
  const left = body.isList ? { unknown, repeated } : {};
  return { status: 200, document: { ...counted, ...left } };
}

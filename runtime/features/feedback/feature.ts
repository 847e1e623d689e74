/** Feedback: clients report whether answers were right, which measures accuracy in service. */
import { count, duration } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { serverFeature } from "../server-feature.ts";

export const feedback = serverFeature({
  name: "feedback",
  title: "Feedback",
  settings: {},
  limits: {
    feedbackRows: setting(
      count({ most: 2 ** 24 }),
      0,
      "answered rows kept per model for feedback, 1.7 KB each; 0 disables feedback",
    ),
    feedbackTime: setting(
      duration({ least: 1 }),
      3_600_000,
      "time after an answer during which feedback is accepted",
    ),
  },
  open: async ({ feedbackRows, feedbackTime }, { nowMs, epochOffsetMs }) => {
    const { feedbackRoute } = await import("./route.ts");
    if (feedbackRows === 0) return { routes: [feedbackRoute(undefined)] };
    const [{ FeedbackBooks }, { KEPT_ROW_BYTES }] = await Promise.all([
      import("./feedback-books.ts"),
      import("./answered-requests.ts"),
    ]);
    const books = new FeedbackBooks({
      ...{ maxRows: feedbackRows, retentionMs: feedbackTime },
      ...{ nowMs, epochOffsetMs },
    });
    return {
      kept: { bytesPerModel: feedbackRows * KEPT_ROW_BYTES, limit: "feedbackRows" },
      hooks: { answered: books.onAnswered.bind(books) },
      routes: [feedbackRoute(books)],
      opened: (application) => books.partOf(application),
    };
  },
});

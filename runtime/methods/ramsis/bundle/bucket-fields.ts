/** Fields of a RAMSIS bundle whose requests are padded to buckets. */
import {
  accuracyFields,
  actionTable,
  axisFields,
  serviceTimes,
} from "../../../bundle/common-fields.ts";
import { listOf, numberBetween, textOf } from "../../../bundle/fields.ts";
import { MAX_BUCKETS } from "../../../bundle/limits.ts";
import { optional, record } from "../../../bundle/record.ts";
import type { Bucket, ClassExpected } from "../../../bundle/schema.ts";

const BUCKET_COUNT = [2, MAX_BUCKETS] as const;
/** Names appear in parameters of answers, labels of metrics and profiles. */
const BUCKET_NAME = /^[1-9]\d{0,9}(x[1-9]\d{0,9}){0,15}$/;

const bucket = record<Bucket>({
  name: [
    textOf(BUCKET_NAME, "sizes joined by x, such as 48x160", "sizes joined by `x`"),
    "Its sizes in the order of the axes, unique among the buckets.",
  ],
  share: [numberBetween(0, 1), "Its share of the load."],
  serviceTimes: [serviceTimes, "Times of batches of the bucket; a row for each variant."],
  ...axisFields,
});

export const buckets = optional(
  listOf(BUCKET_COUNT, bucket),
  "Sizes that open axes of the inputs are padded up to, each with the axes of its tables; only " +
    "rows of one bucket are batched together. The last is the largest, to which `tasks` and " +
    "`decisionSpace` belong. Left out without buckets.",
);

export const bucketTables = optional(
  listOf(BUCKET_COUNT, actionTable),
  "Actions for the queue of each bucket, on its axes, like `actionByState`, which is that " +
    "of the last bucket. Present if and only if `buckets` are.",
);

export const byBucket = optional(
  listOf(BUCKET_COUNT, record<ClassExpected>(accuracyFields)),
  "The same for each bucket, if and only if there are `buckets`.",
);

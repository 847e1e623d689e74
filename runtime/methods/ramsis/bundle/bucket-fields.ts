/** What a RAMSIS bundle has where requests are padded up to buckets. */
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
/** Names stand in parameters of answers, in labels of metrics and in profiles. */
const BUCKET_NAME = /^[1-9]\d{0,9}(x[1-9]\d{0,9}){0,15}$/;

const bucket = record<Bucket>({
  name: [
    textOf(BUCKET_NAME, "sizes joined by x, such as 48x160", "sizes joined by `x`"),
    "Its sizes in the order of the axes, unique among the buckets.",
  ],
  share: [numberBetween(0, 1), "Its share of the load."],
  serviceTimes: [serviceTimes, "How long a batch of the bucket takes; a row for each variant."],
  ...axisFields,
});

export const buckets = optional(
  listOf(BUCKET_COUNT, bucket),
  "Sizes that open axes of the inputs are padded up to, each with the axes of its tables; only " +
    "rows of one bucket are batched together. The last is the largest, of which `tasks` and " +
    "`decisionSpace` are. Left out where there are none.",
);

export const bucketTables = optional(
  listOf(BUCKET_COUNT, actionTable),
  "Of each bucket in its axes what to do with its own queue, as `actionByState`, which is that " +
    "of the last one. There if and only if there are `buckets`.",
);

export const byBucket = optional(
  listOf(BUCKET_COUNT, record<ClassExpected>(accuracyFields)),
  "The same of each bucket, if and only if there are `buckets`.",
);

/** Held-out images named by whoever answered last, and how many were escalated. */
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { classesOf } from "../../answers.ts";
import {
  CLASS_NAMES,
  type drawImages,
  HELD_OUT_COUNT,
  IMAGE_BYTES,
} from "../../models/image-classification/dataset.ts";
import { percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { infer } from "../harness/requests.ts";

const ROWS_PER_REQUEST = 50;

export async function checkTruth(
  page: Page,
  url: string,
  { application }: InferlineBundle,
  images: ReturnType<typeof drawImages>,
): Promise<void> {
  let right = 0;
  let escalated = 0;
  let stated = 0;
  for (let first = 0; first < HELD_OUT_COUNT; first += ROWS_PER_REQUEST) {
    const end = first + ROWS_PER_REQUEST;
    const answer = await infer(url, application, {
      name: "pixels",
      datatype: "UINT8",
      shape: [ROWS_PER_REQUEST, IMAGE_BYTES],
      data: Array.from(images.pixels.subarray(first * IMAGE_BYTES, end * IMAGE_BYTES)),
    });
    const classes = classesOf(answer.values("gate.logits"), CLASS_NAMES.length);
    const later = classesOf(answer.values("accurate.logits"), CLASS_NAMES.length);
    const rows = answer.values("gate.escalate").flatMap((count, row) => (count === 1 ? [row] : []));
    for (const [index, row] of rows.entries()) classes[row] = present(later[index]);
    right += classes.filter((found, row) => found === images.labels[first + row]).length;
    escalated += rows.length;
    stated += answer.accuracy * ROWS_PER_REQUEST;
  }
  page.say(
    `by the truth of ${HELD_OUT_COUNT} images: ` +
      `${percent(right / HELD_OUT_COUNT)} rightly named, ` +
      `stated ${percent(stated / HELD_OUT_COUNT)}; ` +
      `${percent(escalated / HELD_OUT_COUNT)} escalated`,
  );
}

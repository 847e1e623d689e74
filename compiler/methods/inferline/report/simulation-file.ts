/** Reads results of a day from `stratagem simulate --json`, to be shown with the plans. */
import { basename } from "node:path";
import * as z from "zod";
import { readDocument } from "../../../spec/document/document.ts";
import { amount, ratio } from "../../../spec/document/fields.ts";
import { parseStructure } from "../../../spec/document/structure.ts";
import { worstMinute } from "../simulate/minutes.ts";
import type { NamedDayRun } from "./day.ts";

/** Three weeks. */
const MAX_MINUTES = 21 * 1440;

/** The part of a result that the report uses. */
const resultSchema = z.object(
  {
    costPerHour: amount(1e12),
    violationRate: ratio(),
    minutes: z
      .array(
        z.object({
          requests: amount(Number.MAX_SAFE_INTEGER),
          violations: amount(Number.MAX_SAFE_INTEGER),
          costPerHour: amount(1e12),
        }),
      )
      .min(1)
      .max(MAX_MINUTES),
  },
  { error: () => "the document that stratagem simulate --json printed of plans" },
);

/** @throws InputError if the file cannot be read or holds no such result. */
export function readDayRun(path: string): NamedDayRun {
  const result = parseStructure(readDocument(path), resultSchema);
  return {
    name: basename(path).replace(/\.json$/, ""),
    ...result,
    worstMinuteViolationRate: worstMinute(result.minutes),
  };
}

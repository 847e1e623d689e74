/** Names some of the levels. */
import type { Level } from "stratagem-runtime/internal/bundle/schema";
import { decimalText, listText } from "../number-text.ts";

const MAX_NAMED_LEVELS = 4;

/** Formats the loads of some levels. @param count of all levels. */
export function whichText(some: readonly Pick<Level, "loadQps">[], count: number): string {
  const loads = some.map(({ loadQps }) => decimalText(loadQps, 2));
  return loads.length > MAX_NAMED_LEVELS
    ? `${loads.length} of ${count} levels (${loads[0]} to ${loads.at(-1)} requests/s)`
    : `${listText(loads)} requests/s`;
}

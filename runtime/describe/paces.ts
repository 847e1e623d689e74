/** Decisions and promises for machines that are slower than profiled, in words. */

import type { Bundle, PacePromises } from "../bundle/schema.ts";
import { paceLevelsOf } from "./pace-promises.ts";
import { alignColumns, percent, short, wrapped } from "./text.ts";

/** A cell; a dash where an older bundle does not state it. */
export function headroomCell({ headroom }: PacePromises): string {
  return headroom === undefined ? "-" : short(headroom);
}

/** A row for each pace that a level states figures of, below a blank line; nothing for none. */
export function promiseByPace({ headroom, byPace = [] }: PacePromises): string[] {
  if (byPace.length === 0) return [];
  return [
    "",
    `on a slower machine, whose service times are pace times the profile's:`,
    alignColumns([
      ["pace", "accuracy/query", "violations", "p50 ms", "p99 ms"],
      ...byPace.map(({ pace, accuracyPerQuery, violationRate, p50, p99 }) => [
        short(pace),
        percent(accuracyPerQuery),
        percent(violationRate),
        p50.toFixed(1),
        p99.toFixed(1),
      ]),
    ]),
    ...(headroom === undefined ? [] : [headroomText(headroom)]),
  ];
}

function headroomText(headroom: number): string {
  if (headroom === 0) return "headroom 0: the ceiling on violations is not kept at pace 1";
  return `headroom ${short(headroom)}: the highest pace that keeps the ceiling on violations`;
}

/** Loads of the levels for slower machines, by pace; nothing for none. */
export function paceLevelLines(bundle: Bundle): string[] {
  const levels = paceLevelsOf(bundle);
  if (levels.length === 0) return [];
  const paces = [...new Set(levels.map(({ pace }) => pace))];
  const each = paces.map((pace) => {
    const own = levels.filter((level) => level.pace === pace);
    return `pace ${short(pace)} at ${own.map(({ loadQps }) => short(loadQps)).join(", ")}`;
  });
  return ["", wrapped(`levels for slower machines, by load qps: ${each.join("; ")}`)];
}

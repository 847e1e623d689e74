/** Text about decisions and promises for machines that are slower than profiled. */

import type { Bundle, PacePromises } from "../bundle/schema.ts";
import { paceLevelsOf } from "./pace-promises.ts";
import { explainedTable, percent, short, wrapped } from "./text.ts";

/** Returns a table cell; a dash for an older bundle that does not state it. */
export function headroomCell({ headroom }: PacePromises): string {
  return headroom === undefined ? "-" : short(headroom);
}

/**
 * Returns a row for each pace with figures of a level, below a blank line; an empty list without
 * figures.
 */
export function promiseByPace({ headroom, byPace = [] }: PacePromises): string[] {
  if (byPace.length === 0) return [];
  return [
    "",
    `on a slower machine, whose service times are pace times the profile's:`,
    explainedTable([
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

/**
 * Returns the loads of the levels for slower machines, by pace; an empty list without such levels.
 */
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

/** Renders promises of levels for machines that are slower than profiled. */

import { type Bundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { pacePromisesOf } from "stratagem-runtime/internal/describe/pace-promises";
import { html } from "../markup.ts";
import { decimalText, ratioText } from "../number-text.ts";
import type { PageSection } from "../page.ts";
import { headRow, tableRow } from "../table-row.ts";
import { limited } from "./limited-cell.ts";

/** A row for each level and pace; no section without such promises. */
export function paceSections({ levels, slo }: Pick<Bundle, "levels" | "slo">): PageSection[] {
  const ceiling = violationCeiling(slo);
  const bodies = levels.flatMap((level) => {
    const { headroom, byPace = [] } = pacePromisesOf(level);
    const rows = byPace.map(({ pace, accuracyPerQuery, violationRate, p50, p99 }) =>
      tableRow([
        decimalText(level.loadQps, 2),
        headroom === undefined ? "–" : decimalText(headroom, 2),
        decimalText(pace, 2),
        ratioText(accuracyPerQuery),
        limited(violationRate > ceiling, ratioText(violationRate)),
        decimalText(p50, 1),
        decimalText(p99, 1),
      ]),
    );
    return rows.length === 0 ? [] : [html`<tbody>${rows}</tbody>`];
  });
  if (bodies.length === 0) return [];
  const heads = ["load/s", "headroom", "pace", "accuracy per query", "violations"];
  const body = html`<p>Pace is the time that batches take, relative to the profile: at 2 a machine
is half as fast. Decisions follow the pace that is measured. Headroom is the highest constant pace
at which the level keeps its ceiling on violations.</p>
<div class="scroll" role="region" aria-label="promises by pace" tabindex="0"><table
id="pace-table"><thead>${headRow([...heads, "p50, ms", "p99, ms"])}</thead>
${bodies}</table></div>`;
  return [{ id: "paces", heading: "On slower machines", body }];
}

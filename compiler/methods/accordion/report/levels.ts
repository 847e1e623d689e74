/** Table of all levels, and the meaning of its numbers. */
import { type AccordionBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { accordionMissed } from "stratagem-runtime/internal/methods/accordion/describe/missed";
import { definitionList } from "../../../report/definition-list.ts";
import { feasibleCell } from "../../../report/kit/feasible-cell.ts";
import { limited } from "../../../report/kit/limited-cell.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, msText, ratioText } from "../../../report/number-text.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";

/** One row per level. */
export function levelTable(bundle: AccordionBundle): Markup {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  const rows = levels.map((level) => {
    const { loadQps, capacityQps, feasible, expected } = level;
    const { violationRate, droppedRate, latencyMsP50, latencyMsP99 } = expected;
    return tableRow([
      decimalText(loadQps, 2),
      feasibleCell(feasible, accordionMissed(bundle, level)),
      limited(loadQps > capacityQps, ratioText(loadQps / capacityQps)),
      limited(violationRate > ceiling, ratioText(violationRate)),
      ratioText(droppedRate),
      decimalText(latencyMsP50, 1),
      limited(latencyMsP99 > slo.latencyMs, decimalText(latencyMsP99, 1)),
      ratioText(expected.occupancy),
      decimalText(expected.activeQueries, 2),
      decimalText(expected.reconfigurations, 3),
      decimalText(expected.queries),
    ]);
  });
  return html`<div class="scroll" role="region" aria-label="all levels" tabindex="0"><table
id="level-table"><thead>
${headRow([
  "queries/s",
  "feasible",
  "of capacity",
  "violations",
  "dropped",
  "p50, ms",
  "p99, ms",
  "places busy",
  "active queries",
  "changes a query",
  "queries",
])}</thead>
<tbody>${rows}</tbody></table></div>`;
}

/** One sentence for each number of the table. */
export function meanings({ levels, slo }: AccordionBundle): Markup {
  const capacityQps = levels[0]?.capacityQps ?? 0;
  const entries: readonly (readonly [string, string])[] = [
    [
      "Feasible",
      "Whether the load is within the capacity and the expected violations within the " +
        "ceiling; if not, which limit is missed, and by how much.",
    ],
    [
      "Of capacity",
      `Load over the capacity of ${decimalText(capacityQps, 2)} queries/s, an upper bound for ` +
        "more than: every query on the places that it takes least of.",
    ],
    [
      "Violations",
      "Share of the queries that are late or dropped; red above " +
        `${ratioText(violationCeiling(slo))}.`,
    ],
    ["Dropped", "Share of the queries that are dropped; only those of low priority are."],
    [
      "p50, p99",
      "Time from a query's arrival to its last instance, of the queries that are served; " +
        `red above ${msText(slo.latencyMs)}.`,
    ],
    ["Places busy", "Mean share of the places that run queries."],
    ["Active queries", "Mean number of queries that run at a time."],
    ["Changes a query", "Mean number of times that a running query gets other places."],
    ["Queries", "Number of queries in the simulation of the expected numbers."],
  ];
  return definitionList(entries);
}

/** Classes of queries: their limits, and the promised and simulated figures of every level. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { html } from "../../../report/markup.ts";
import { decimalText, listText, msText, ratioText } from "../../../report/number-text.ts";
import type { PageSection } from "../../../report/page.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";
import type { SimulationResult } from "../simulate/simulate.ts";
import { p99Cell } from "./levels.ts";

/**
 * Empty if all queries have the same SLO.
 * @param results of the simulated policy, by load.
 */
export function classSections(
  bundle: RamsisBundle,
  results: ReadonlyMap<number, SimulationResult>,
): PageSection[] {
  const { classes } = bundle.slo;
  if (classes === undefined) return [];
  const rows = bundle.levels.flatMap(({ loadQps, expected, classTables }) =>
    classes.map(({ name, latencyMs, share }, index) => {
      const stated = expected.byClass?.[name];
      const found = results.get(loadQps)?.byClass?.[name];
      const workers = classTables?.[index]?.workers;
      return tableRow([
        decimalText(loadQps, 2),
        name,
        msText(latencyMs),
        ratioText(share),
        workers === undefined ? "one queue" : decimalText(workers),
        ratioText(stated?.accuracyPerSatisfied ?? null),
        ratioText(stated?.violationRate ?? null),
        ratioText(found?.accuracyPerSatisfied ?? null),
        ratioText(found?.violationRate ?? null),
        p99Cell(found?.latencyMs ?? null),
      ]);
    }),
  );
  const table = html`<div class="scroll" role="region" aria-label="classes" tabindex="0"><table
id="class-table"><thead>
<tr><th colspan="5"></th><th colspan="2">expected</th><th colspan="3">simulated</th></tr>
${headRow([
  "queries/s",
  "class",
  "deadline",
  "share",
  "workers",
  "accuracy per satisfied",
  "violations ≤",
  "accuracy per satisfied",
  "violations",
  "p99, ms",
])}</thead>
<tbody>${rows}</tbody></table></div>`;
  const apart = bundle.levels.filter((level) => level.classTables !== undefined).length;
  const lead =
    apart === 0
      ? "All classes wait in one queue, the earliest deadline first."
      : `At ${apart} of ${bundle.levels.length} levels each class has its own queue, table and ` +
        "workers; idle workers are lent. While a class exceeds its share, and at the other " +
        "levels, all wait in one queue, the earliest deadline first.";
  return [{ id: "classes", heading: "The classes", body: html`<p>${lead}</p>${table}` }];
}

export function deadlineText({ slo }: RamsisBundle): string {
  if (slo.classes === undefined) return msText(slo.latencyMs);
  return listText(slo.classes.map(({ name, latencyMs }) => `${msText(latencyMs)} (${name})`));
}

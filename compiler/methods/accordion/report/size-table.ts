/** Violations under the bundle's own scheduler, by size and priority. */
import { type AccordionBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { limited } from "../../../report/kit/limited-cell.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { countedText, decimalText } from "../../../report/number-text.ts";
import { headRow } from "../../../report/table-row.ts";
import { sizeText } from "../simulate/size-classes.ts";
import type { GroupOutcome, SizeOutcome } from "../simulate/tally.ts";
import type { ScheduledRun } from "./simulated-schedulers.ts";

const PRIORITIES = ["high", "low"] as const;

interface Sizes {
  readonly loadQps: number;
  readonly bySize: readonly SizeOutcome[];
}

/** One row for each size class that occurs, over all loads; and load by load. */
export function sizeTable(bundle: AccordionBundle, runs: readonly ScheduledRun[]): Markup | "" {
  const own = runs
    .filter(({ scheduler }) => scheduler === bundle.policy.scheduler)
    .map(({ loadQps, result }): Sizes => ({ loadQps, bySize: result.bySize }));
  const classes = [...(own[0]?.bySize.keys() ?? [])].filter((index) =>
    own.some(({ bySize }) => PRIORITIES.some((name) => (bySize[index]?.[name].queries ?? 0) > 0)),
  );
  if (classes.length === 0) return "";
  const rows = classes.map((index) => {
    const ofClass = own.flatMap(({ bySize }) => bySize[index] ?? []);
    const cells = PRIORITIES.map((name) =>
      groupCells(
        bundle,
        ofClass.map((one) => one[name]),
      ),
    );
    return html`<tr><td>${sizeText(ofClass[0]?.places ?? null)}</td>${cells}</tr>\n`;
  });
  return html`<h3>Queries that miss the SLO</h3><p>Under ${bundle.policy.scheduler}, by the fewest
places with which a query that starts at once is on time: no size should pay for the others. For a
class without a miss, the bound is what its true rate hardly exceeds.</p><div class="scroll"
role="region" aria-label="violations by size and priority" tabindex="0"><table
id="size-table"><thead>
<tr><th></th><th colspan="3">high priority</th><th colspan="3">low priority</th></tr>
${headRow(["places", ...PRIORITIES.flatMap(() => ["queries", "violations", "at the worst load"])])}
</thead><tbody>${rows}</tbody></table></div>${loadTable(bundle, own, classes)}`;
}

function groupCells(bundle: AccordionBundle, groups: readonly GroupOutcome[]): Markup {
  const ceiling = violationCeiling(bundle.slo);
  const queries = groups.reduce((sum, group) => sum + group.queries, 0);
  const missed = groups.reduce((sum, { late, dropped }) => sum + late + dropped, 0);
  const worst = groups.reduce(
    (most, group) => (group.violationRate > most.violationRate ? group : most),
    groups[0] ?? { queries: 0, satisfied: 0, late: 0, dropped: 0, violationRate: 0 },
  );
  return html`<td>${decimalText(queries)}</td>${limited(
    missed > ceiling * queries,
    countedText(missed, queries),
  )}${groupCell(worst, ceiling)}`;
}

function groupCell({ late, dropped, queries }: GroupOutcome, ceiling: number): Markup {
  const missed = late + dropped;
  return limited(missed > ceiling * queries, countedText(missed, queries));
}

function loadTable(
  bundle: AccordionBundle,
  own: readonly Sizes[],
  classes: readonly number[],
): Markup {
  const ceiling = violationCeiling(bundle.slo);
  const titles = classes.flatMap((index) =>
    PRIORITIES.map((name) => `${sizeText(own[0]?.bySize[index]?.places ?? null)}, ${name}`),
  );
  const rows = own.map(({ loadQps, bySize }) => {
    const cells = classes.flatMap((index) =>
      PRIORITIES.flatMap((name) => {
        const group = bySize[index]?.[name];
        return group === undefined ? [] : [groupCell(group, ceiling)];
      }),
    );
    return html`<tr><td>${decimalText(loadQps, 2)}</td>${cells}</tr>\n`;
  });
  return html`<details class="more"><summary>Violations by size and priority, load by
load</summary><div class="scroll"><table id="size-load-table"><thead>
${headRow(["queries/s", ...titles])}</thead>
<tbody>${rows}</tbody></table></div></details>`;
}

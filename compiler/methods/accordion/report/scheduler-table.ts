/** Table that compares the schedulers on the same queries. */
import {
  type AccordionBundle,
  type SchedulerName,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { limited } from "../../../report/kit/limited-cell.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";
import { headRow } from "../../../report/table-row.ts";
import { schedulerSample } from "./scheduler-marks.ts";
import { SCHEDULERS, type ScheduledRun } from "./simulated-schedulers.ts";

/** Means over the loads, with equal weights. */
export interface SchedulerSummary {
  readonly scheduler: SchedulerName;
  /**
   * Highest load below which every simulated load keeps the violation ceiling; null if the lowest
   * exceeds it.
   */
  readonly heldQps: number | null;
  readonly violationRate: number;
  readonly highRate: number;
  readonly lowRate: number;
  readonly latencyMs: number;
  readonly throughputQps: number;
  readonly activeQueries: number;
  readonly occupancy: number;
}

/** Summaries of the simulated schedulers, the bundle's own first. */
export function comparedSchedulers(
  { policy, slo }: Pick<AccordionBundle, "policy" | "slo">,
  runs: readonly ScheduledRun[],
): SchedulerSummary[] {
  const own = policy.scheduler;
  return [own, ...SCHEDULERS.filter((scheduler) => scheduler !== own)].flatMap((scheduler) => {
    const ofIt = runs.filter((run) => run.scheduler === scheduler);
    return ofIt.length === 0 ? [] : [summaryOf(scheduler, ofIt, violationCeiling(slo))];
  });
}

function summaryOf(
  scheduler: SchedulerName,
  runs: readonly ScheduledRun[],
  ceiling: number,
): SchedulerSummary {
  const mean = (read: (run: ScheduledRun["result"]) => number): number =>
    runs.reduce((sum, { result }) => sum + read(result), 0) / runs.length;
  const over = runs.findIndex(({ result }) => result.violationRate > ceiling);
  const held = over < 0 ? runs : runs.slice(0, over);
  return {
    scheduler,
    heldQps: held.at(-1)?.loadQps ?? null,
    violationRate: mean(({ violationRate }) => violationRate),
    highRate: mean(({ byPriority }) => byPriority.high.violationRate),
    lowRate: mean(({ byPriority }) => byPriority.low.violationRate),
    latencyMs: mean(({ latencyMs }) => latencyMs?.mean ?? 0),
    throughputQps: mean(({ throughputQps }) => throughputQps),
    activeQueries: mean(({ activeQueries }) => activeQueries.mean),
    occupancy: mean(({ occupancy }) => occupancy),
  };
}

/** One row per scheduler. */
export function schedulerTable(bundle: AccordionBundle, runs: readonly ScheduledRun[]): Markup {
  const rows = comparedSchedulers(bundle, runs).map((one, index) => {
    const held = one.heldQps === null ? "none" : decimalText(one.heldQps, 2);
    return html`<tr${index === 0 ? html` class="own"` : ""}><td>${schedulerSample(
      one.scheduler,
      index === 0,
    )} ${one.scheduler}</td><td>${held}</td>
<td>${ratioText(one.violationRate)}</td><td>${ratioText(one.highRate)}</td>
<td>${ratioText(one.lowRate)}</td><td>${decimalText(one.latencyMs, 1)}</td>
<td>${decimalText(one.throughputQps, 2)}</td><td>${decimalText(one.activeQueries, 2)}</td>
<td>${ratioText(one.occupancy)}</td></tr>\n`;
  });
  return html`<div class="scroll" role="region" aria-label="schedulers compared" tabindex="0"><table
id="scheduler-table"><thead>
<tr><th></th><th></th><th colspan="3">violations</th><th></th><th></th><th></th><th></th></tr>
${headRow([
  "scheduler",
  "ceiling kept up to, queries/s",
  "all",
  "high priority",
  "low priority",
  "mean latency, ms",
  "served/s",
  "active queries",
  "places busy",
])}</thead>
<tbody>${rows}</tbody></table></div>`;
}

/** Violations load by load, the bundle's scheduler first. */
export function violationTable(bundle: AccordionBundle, runs: readonly ScheduledRun[]): Markup {
  const ceiling = violationCeiling(bundle.slo);
  const names = comparedSchedulers(bundle, runs).map(({ scheduler }) => scheduler);
  const loads = [...new Set(runs.map(({ loadQps }) => loadQps))];
  const rows = loads.map((loadQps) => {
    const cells = names.map((name) => {
      const rate = runs.find((run) => run.loadQps === loadQps && run.scheduler === name)?.result
        .violationRate;
      return limited((rate ?? 0) > ceiling, ratioText(rate ?? null));
    });
    return html`<tr><td>${decimalText(loadQps, 2)}</td>${cells}</tr>\n`;
  });
  return html`<details class="more"><summary>Violations of each scheduler, load by
load</summary><div class="scroll"><table id="violation-table"><thead><tr>
<th>queries/s</th>${names.map((name) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div></details>`;
}

/**
 * Report page of plans of cores and instances: the stages, resources by load, and for every load
 * its plans and its response to bursts.
 */
import { type ThemisBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { taskLetters } from "stratagem-runtime/internal/methods/themis/describe/letters";
import { captionedFigure, circleSample, lineSample } from "../../../report/captioned-figure.ts";
import { figureGrid } from "../../../report/figure-grid.ts";
import { limited } from "../../../report/kit/limited-cell.ts";
import {
  notedTaskGraph,
  type ReportedFile,
  renderPlanPage,
  STAGE_RULES,
} from "../../../report/kit/plan-report.ts";
import { chip, colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, ratioText } from "../../../report/number-text.ts";
import { headRow } from "../../../report/table-row.ts";
import {
  curveSample,
  type DayCurve,
  drawDayCores,
  drawDayLoad,
  drawDayMisses,
} from "./day-figures.ts";
import { minutesOf, type ScaledDay, type ScaledRun, worstMinute } from "./days.ts";
import { coefficientTable, fitSection } from "./fit-section.ts";
import { levelDetails, levelTable, meanings } from "./levels.ts";
import {
  drawCores,
  drawLatency,
  drawTaskCores,
  drawViolations,
  KIND_STROKES,
} from "./load-figures.ts";
import { bundleFacts, leadText, scalingText } from "./summary.ts";

interface ThemisReportContent {
  readonly bundle: ThemisBundle;
  /** Days to show; default: none. */
  readonly days?: readonly ScaledDay[];
  readonly file: ReportedFile;
}

/** The whole HTML document. The same content gives the same text. */
export function renderThemisReport({ bundle, file, days = [] }: ThemisReportContent): string {
  const keys = taskKeys(bundle);
  return renderPlanPage(bundle, {
    kind: "scaling",
    lead: leadText(bundle),
    facts: bundleFacts(bundle, file),
    sections: [
      { id: "load", heading: "What load takes", body: loadSection(bundle, keys) },
      ...(days.length === 0
        ? []
        : [{ id: "days", heading: "Days, minute by minute", body: daySection(bundle, days) }]),
      {
        id: "stages",
        heading: "The tasks and their latency",
        body: html`<div class="stages">${notedTaskGraph(bundle)}<div>${coefficientTable(
          bundle,
          keys,
        )}</div></div>${fitSection(bundle, keys)}`,
      },
    ],
    levelTable: levelTable(bundle),
    meanings: meanings(bundle),
    plansLead: html`<p>${scalingText(bundle)}</p><p>Open a load to see its plans, and to what its
instances go when a higher load comes at once.</p>`,
    levelDetails: levelDetails(bundle, keys),
    footer: footerText(bundle),
    keys,
    rules: STAGE_RULES + RULES,
  });
}

const RULES = `.errors summary{cursor:pointer;font-size:.9rem;padding:4px 2px}
.errors summary:focus-visible{outline:2px solid var(--accent)}
.kinds td,.bursts td,.day-table td{white-space:nowrap}
#level-table td:nth-child(2),#level-table thead tr:last-child th:nth-child(2){text-align:right}
`;

function loadSection(bundle: ThemisBundle, keys: readonly PipelineVariantKey[]): Markup {
  const pale = bundle.levels.some(({ feasible }) => !feasible)
    ? " Pale bars are beyond the pool: the plan is for less than the load."
    : "";
  return figureGrid([
    captionedFigure(
      "Cores by kind of plan",
      html`${kindKey()}${drawCores(bundle)}`,
      "A line ends where, by the model, no plan of its kind meets the SLO within the pool.",
    ),
    captionedFigure(
      "Cores by task",
      html`${drawTaskCores(bundle, keys)}${legend(keys)}`,
      `Cores of the followed plan.${pale}`,
    ),
    captionedFigure(
      "Latency",
      html`${latencyKey()}${drawLatency(bundle)}`,
      "Latency of the followed plan. A triangle at the upper edge is a value beyond the frame.",
    ),
    captionedFigure(
      "Violations",
      drawViolations(bundle),
      "In simulations of the followed plan, on a logarithmic scale; the lowest line also " +
        "stands for 0.",
    ),
  ]);
}

function kindKey(): Markup {
  const kinds = Object.entries(KIND_STROKES).map(
    ([kind, { strokeWidth, strokeDasharray }]) =>
      html`<li>${lineSample(
        `stroke-width="${strokeWidth}" stroke-dasharray="${strokeDasharray}"`,
        false,
      )}${kind}</li>\n`,
  );
  return html`<ul class="key">${kinds}<li>${circleSample()}followed</li></ul>`;
}

function latencyKey(): Markup {
  return html`<ul class="key">
<li>${lineSample(`stroke-width="2.2"`, true)}longest path by the model</li>
<li>${circleSample()}p99, simulated</li></ul>`;
}

function legend(keys: readonly PipelineVariantKey[]): Markup {
  return html`<ul class="key">${keys.map(
    (key) => html`<li>${chip(key)} ${key.taskName}</li>`,
  )}</ul>`;
}

function footerText({ levels }: ThemisBundle): string {
  const seeds = [...new Set(levels.map(({ steady }) => steady.expected.seed))];
  return (
    "Cores and latencies are those of the solver. Simulated values: each plan under " +
    `random arrivals at its load, with fixed instances and seed ${seeds.join(", ")}.`
  );
}

/** In the order of the tasks. */
function taskKeys(bundle: ThemisBundle): PipelineVariantKey[] {
  return colored(taskLetters(bundle));
}

function daySection(bundle: ThemisBundle, days: readonly ScaledDay[]): Markup {
  return html`${days.map((day, index) => dayPart(bundle, day, `day-${index}`))}`;
}

function dayPart(bundle: ThemisBundle, { name, notes, runs }: ScaledDay, id: string): Markup {
  const curves = runs.map((run): DayCurve => ({ scaler: run.scaler, minutes: minutesOf(run) }));
  const figures = [
    captionedFigure("Load", drawDayLoad(id, curves[0]?.minutes ?? []), "Means over minutes."),
    captionedFigure(
      "Cores",
      html`${curveKey(curves)}${drawDayCores(id, curves)}`,
      "Mean cores held in each minute; the broad line is the plan of the bundle's current " +
        "level: cores above it are starting, stopping, or serve a burst.",
    ),
    captionedFigure(
      "Misses",
      drawDayMisses(id, curves),
      "Share of the requests arriving in the minute that is late or dropped.",
    ),
  ];
  return html`<div id="${id}"><h3>${name}</h3><p class="note">${counted(
    runs[0]?.result.queries ?? 0,
    "request",
  )} in ${counted(curves[0]?.minutes.length ?? 0, "minute")}, the same for all
scalers.${notes.map(
    (note) => ` ${note}.`,
  )}</p>${dayTable(bundle, runs, curves)}${figureGrid(figures)}</div>\n`;
}

function curveKey(curves: readonly DayCurve[]): Markup {
  return html`<ul class="key">${curves.map(
    ({ scaler }, index) => html`<li>${curveSample(index)}${scaler}</li>\n`,
  )}<li>${curveSample(null)}planned by the bundle</li></ul>`;
}

/** One row for each scaler. */
function dayTable(
  bundle: ThemisBundle,
  runs: readonly ScaledRun[],
  curves: readonly DayCurve[],
): Markup {
  const ceiling = violationCeiling(bundle.slo);
  const hasCost = runs.some(({ result }) => result.costPerHour !== undefined);
  const rows = runs.map(({ scaler, result }, index) => {
    const minutes = curves[index]?.minutes ?? [];
    const worst = worstMinute(minutes);
    const planned = minutes.reduce((sum, one) => sum + one.plannedCores, 0) / minutes.length;
    const cost = hasCost ? html`<td>${decimalText(result.costPerHour ?? 0, 4)}</td>` : "";
    return html`<tr${index === 0 ? html` class="own"` : ""}><td>${scaler}</td>
<td>${decimalText(result.cores.mean, 2)}</td><td>${decimalText(planned, 2)}</td>
<td>${decimalText(result.cores.max)}</td>${cost}${limited(
      result.violationRate > ceiling,
      ratioText(result.violationRate),
    )}<td>${ratioText(worst?.missedShare ?? 0)}</td>
<td>${worst === null ? "–" : String(worst.minute)}</td>
<td>${decimalText(result.planSwitches)}</td></tr>\n`;
  });
  return html`<div class="scroll" role="region" aria-label="scalers of a day" tabindex="0"><table
class="day-table"><thead>${headRow([
    "scaler",
    "cores, mean",
    "planned, mean",
    "cores, most",
    ...(hasCost ? ["cost/hour"] : []),
    "missed",
    "worst minute",
    "which",
    "changes of level",
  ])}</thead><tbody>${rows}</tbody></table></div>`;
}

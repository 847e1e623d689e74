/**
 * A bundle of plans of cores and instances as one page for people: the stages, what load takes, and
 * for every load its plans and what a burst makes of them.
 */
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { taskLetters } from "stratagem-runtime/internal/methods/themis/tell/letters";
import { captionedFigure, circleSample, lineSample } from "../../../report/captioned-figure.ts";
import { figureGrid } from "../../../report/figure-grid.ts";
import {
  notedTaskGraph,
  type ReportedFile,
  renderPlanPage,
  STAGE_RULES,
} from "../../../report/kit/plan-report.ts";
import { chip, colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { daySection } from "./day-section.ts";
import type { ScaledDay } from "./days.ts";
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
  /** Left out for none. */
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
      `Of the plan that is followed.${pale}`,
    ),
    captionedFigure(
      "Latency",
      html`${latencyKey()}${drawLatency(bundle)}`,
      "Of the plan that is followed. A triangle at the upper edge is a value beyond the frame.",
    ),
    captionedFigure(
      "Violations",
      drawViolations(bundle),
      "In simulations of the plan that is followed, on a logarithmic scale; the lowest line also " +
        "stands for none at all.",
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
    "Cores and latencies are what the solver found. Simulated values: each plan under " +
    `random arrivals at its load, its instances as they are, with seed ${seeds.join(", ")}.`
  );
}

/** In the order of the tasks. */
function taskKeys(bundle: ThemisBundle): PipelineVariantKey[] {
  return colored(taskLetters(bundle));
}

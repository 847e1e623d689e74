/**
 * A bundle of plans of cores and instances as one page for people: the stages, what load takes, and
 * for every load its plans and what a burst makes of them.
 */
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { captionedFigure, circleSample, lineSample } from "../../../report/captioned-figure.ts";
import { figureGrid } from "../../../report/figure-grid.ts";
import { paceSections } from "../../../report/kit/pace-section.ts";
import { pipelineStyle } from "../../../report/kit/pipeline-style.ts";
import { drawTaskGraph } from "../../../report/kit/task-graph.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { renderPage } from "../../../report/page.ts";
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
import { taskKeys } from "./task-keys.ts";

interface ThemisReportContent {
  readonly bundle: ThemisBundle;
  /** Left out for none. */
  readonly days?: readonly ScaledDay[];
  /** Of the file that held the bundle. */
  readonly file: { readonly byteCount: number; readonly sha256: string };
}

/** The whole HTML document. The same content gives the same text. */
export function renderThemisReport({ bundle, file, days = [] }: ThemisReportContent): string {
  const keys = taskKeys(bundle);
  return renderPage({
    title: bundle.application,
    subtitle: "Stratagem scaling report",
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
        body: html`<div class="stages">${graphOf(bundle)}<div>${coefficientTable(
          bundle,
          keys,
        )}</div></div>${fitSection(bundle, keys)}`,
      },
      {
        id: "levels",
        heading: "All levels",
        body: html`${levelTable(bundle)}<h3>What the numbers mean</h3>${meanings(bundle)}`,
      },
      ...paceSections(bundle),
      {
        id: "plans",
        heading: "The plans, level by level",
        body: html`<p>${scalingText(bundle)}</p><p>Open a load to see its plans, and to what its
instances go when a higher load comes at once.</p>${levelDetails(bundle, keys)}`,
      },
    ],
    footer: footerText(bundle),
    variantCount: 0,
    style: pipelineStyle(keys) + RULES,
  });
}

const RULES = `.stages{display:flex;flex-wrap:wrap;gap:8px 36px;align-items:flex-start}
.stages>figure{max-width:100%}
.stages>div{flex:1 1 420px;min-width:0}
.errors summary{cursor:pointer;font-size:.9rem;padding:4px 2px}
.errors summary:focus-visible{outline:2px solid var(--accent)}
.kinds td,.bursts td,.day-table td{white-space:nowrap}
#level-table td:nth-child(2),#level-table thead tr:last-child th:nth-child(2){text-align:right}
`;

function graphOf(bundle: ThemisBundle): Markup {
  const hasJoin = bundle.tasks.some(({ edges }) => edges.length > 1);
  const hasExclusive =
    bundle.entryBranch === "exclusive" || bundle.tasks.some(({ branch }) => branch === "exclusive");
  const notes = [
    "Percentages are the shares of the queries that go along an edge.",
    ...(hasExclusive ? ["Of dashed edges a query takes one at most."] : []),
    ...(hasJoin ? ["A join waits for all that were sent its way."] : []),
  ];
  return drawTaskGraph(bundle, notes.join(" "));
}

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

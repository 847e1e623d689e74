/**
 * Report page of provisioning plans: the tasks, the cost by load, and for every load what runs
 * where and why.
 */
import {
  type InferlineBundle,
  type StageTask,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { hardwareOf } from "stratagem-runtime/internal/methods/inferline/describe/plan-view";
import { captionedFigure, circleSample, lineSample } from "../../../report/captioned-figure.ts";
import { drawFigure } from "../../../report/figure.ts";
import { figureGrid } from "../../../report/figure-grid.ts";
import { arrivalText } from "../../../report/kit/arrival-text.ts";
import { beyondMarks } from "../../../report/kit/latency-figure.ts";
import { levelLine, limitMarks, loadAxis } from "../../../report/kit/load-axis.ts";
import { rateScale, rings } from "../../../report/kit/plan-figures.ts";
import {
  notedTaskGraph,
  type ReportedFile,
  renderPlanPage,
  STAGE_RULES,
  secondsText,
  taskLegend,
} from "../../../report/kit/plan-report.ts";
import { floorOf } from "../../../report/kit/rate-floor.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";
import { headRow } from "../../../report/table-row.ts";
import { drawCost, drawLatency, drawReplicas } from "./cost-figures.ts";
import { daySection, type NamedDayRun } from "./day.ts";
import { hardwareKeys, keyOf } from "./hardware-keys.ts";
import { levelDetails, meanings, provisioningTable } from "./levels.ts";
import { bundleFacts, leadText } from "./summary.ts";

interface InferlineReportContent {
  readonly bundle: InferlineBundle;
  readonly file: ReportedFile;
  /** Simulations of a day, shown instead of a synthetic one; default: none. */
  readonly days?: readonly NamedDayRun[];
}

/** The whole HTML document. The same content gives the same text. */
export function renderInferlineReport(content: InferlineReportContent): string {
  const { bundle, file, days = [] } = content;
  const keys = hardwareKeys(bundle);
  const day = daySection(bundle, days);
  return renderPlanPage(bundle, {
    kind: "provisioning",
    lead: leadText(bundle),
    facts: bundleFacts(bundle, file),
    sections: [
      { id: "stages", heading: "The tasks", body: stageSection(bundle, keys) },
      { id: "load", heading: "What load costs", body: loadSection(bundle, keys) },
      ...(day === null ? [] : [{ id: "day", heading: "What a day costs", body: day }]),
    ],
    levelTable: provisioningTable(bundle),
    meanings: meanings(bundle),
    plansLead: html`<p>Open a load to see what runs where, for which traffic, and what keeps it from
being cheaper.</p>`,
    levelDetails: levelDetails(bundle, keys),
    footer: footerText(bundle),
    keys,
    rules: STAGE_RULES + RULES,
  });
}

const RULES = `tbody tr.more td:first-child{border-bottom-color:transparent}
.stages td:nth-child(2){white-space:nowrap}
.limits td,.limits th{text-align:left}
.limits td:not(:last-child){white-space:nowrap}
.limits td:last-child{min-width:10em}
.plan>figure{flex:0 1 380px}
.plan>div{flex:1 1 520px}
#level-table td:nth-child(2),#level-table thead tr:last-child th:nth-child(2){text-align:right}
`;

function stageSection(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): Markup {
  return html`<div class="stages">${notedTaskGraph(bundle)}<div>${hardwareTable(
    bundle,
    keys,
  )}</div></div>`;
}

/** Hardware that each task can run on; a letter marks hardware that some plan uses. */
function hardwareTable(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): Markup {
  const rows = bundle.tasks.map((task, index) => hardwareRows(bundle, keys, task, index));
  return html`<div class="scroll"><table class="words">
<thead>${headRow([
    "task",
    "hardware",
    "price/h",
    "batches",
    "one query, ms",
    "largest batch, ms",
    "queries/s",
  ])}</thead>
<tbody>${rows}</tbody></table></div><p class="note">Queries/s are the most that one replica serves,
and hardware without a letter is in no plan.</p>`;
}

function hardwareRows(
  { cluster }: InferlineBundle,
  keys: readonly PipelineVariantKey[],
  { name, variants }: StageTask,
  task: number,
): Markup[] {
  const runs = cluster.pools.flatMap((pool, index) =>
    variants.flatMap(({ profiles }) => {
      const profile = profiles[index];
      return profile === null || profile === undefined ? [] : [{ pool, index, profile }];
    }),
  );
  return runs.map(({ pool, index, profile }, row) => {
    const key = keyOf(keys, task, index);
    const times = profile.serviceTimes.decisionMs.data;
    const sizes = Array.from(profile.batches.data);
    const rates = sizes.map((size) => (1000 * size) / (times[size - 1] ?? Number.NaN));
    const [single, largest] = [times[0] ?? 0, times[times.length - 1] ?? 0];
    const classes = [
      ...(key === undefined ? ["none"] : []),
      ...(row < runs.length - 1 ? ["more"] : []),
    ];
    return html`<tr class="${classes.join(" ")}"><td>${row === 0 ? name : ""}</td>
<td>${chip(key)} ${hardwareOf(pool)}</td><td>${decimalText(pool.pricePerHour ?? 0, 4)}</td>
<td>${batchesText(sizes)}</td><td>${decimalText(single, 1)}</td><td>${decimalText(largest, 1)}</td>
<td>${decimalText(Math.max(...rates), 1)}</td></tr>\n`;
  });
}

function batchesText(sizes: readonly number[]): string {
  return sizes.length > 2 ? `${sizes[0]} … ${sizes.at(-1)}` : sizes.join(", ");
}

function loadSection(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): Markup {
  return figureGrid([
    captionedFigure(
      "Cost",
      html`${costKey(bundle)}${drawCost(bundle)}`,
      "Cost of all replicas per hour, in the currency of the prices.",
    ),
    captionedFigure(
      "Replicas",
      html`${drawReplicas(bundle, keys)}${taskLegend(bundle, keys)}`,
      replicaCaption(bundle),
    ),
    captionedFigure(
      "Latency",
      html`${latencyKey()}${drawLatency(bundle)}`,
      "From arrival to the last answer. A triangle at the upper edge is a value beyond the frame.",
    ),
    captionedFigure(
      "Misses",
      html`${missKey()}${drawMisses(bundle)}`,
      "On a logarithmic scale; the lowest line also stands for 0.",
    ),
  ]);
}

function costKey({ levels }: InferlineBundle): Markup {
  const hasGap = levels.some(({ feasible, solve }) => feasible && solve.provenGap > 0);
  return html`<ul class="key">
<li>${lineSample(`stroke-width="2.4"`, true)}planned</li>
<li>${lineSample(`stroke-width="1.2" stroke-dasharray="2 3"`, false)}greedy alone</li>
${
  hasGap
    ? html`<li>${lineSample(`stroke-width="1" stroke-dasharray="7 3"`, false)}no plan is
cheaper, by the estimator</li>`
    : ""
}
<li>${circleSample()}simulated, with the tuner</li></ul>`;
}

function latencyKey(): Markup {
  return html`<ul class="key">
<li>${lineSample(`stroke-width="2.2"`, true)}estimated on the sample</li>
<li>${circleSample()}simulated, with the tuner</li></ul>`;
}

function missKey(): Markup {
  return html`<ul class="key">
<li>${lineSample(`stroke-width="2"`, true)}held-out traces, with the plan alone</li>
<li>${circleSample()}simulated, with the tuner</li></ul>`;
}

function replicaCaption({ levels }: InferlineBundle): string {
  const beyond = levels.some(({ feasible }) => !feasible)
    ? " Pale bars are beyond the pools: the plan is for less than the load."
    : "";
  return `By task (hue) and hardware (darker is dearer).${beyond}`;
}

function footerText({ levels, arrivals }: InferlineBundle): string {
  return (
    "Plans, estimates and proofs are those of the planner. Simulated values: each level " +
    `under its own load (arrivals: ${arrivalText(arrivals)}), ${secondsText(levels)} with seed ` +
    `${levels[0]?.expected.seed ?? 0}, by the code that follows the plans.`
  );
}

/** Held-out traces with the plan alone, and the simulation with the tuner. */
function drawMisses(bundle: InferlineBundle): Markup {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  const rates = levels.flatMap(({ expected }) => [
    expected.heldOut.missRate,
    expected.violationRate,
  ]);
  const floor = floorOf(rates, ceiling);
  const shown = (rate: number): number => Math.max(rate, floor);
  const heldOut = levels.map(({ loadQps, expected: { heldOut: one } }) => ({
    loadQps,
    value: one.traces === 0 ? Number.NaN : shown(one.missRate),
  }));
  const simulated = levels.map(({ loadQps, expected }) => ({
    loadQps,
    value: shown(expected.violationRate),
  }));
  const text = {
    id: "misses",
    title: "Requests that miss the SLO against load",
    description:
      `At most ${ratioText(Math.max(...rates))} of the requests of a level miss the SLO; ` +
      `${ratioText(ceiling)} may.`,
  };
  return drawFigure(text, {
    ...rateScale(floor, "requests that miss the SLO"),
    x: loadAxis(bundle),
    marks: [
      ...beyondMarks(bundle, "top"),
      ...limitMarks("ceiling", shown(ceiling)),
      ...levelLine(heldOut, 2),
      rings(simulated),
    ],
  });
}

/**
 * Report page of malleable pipelines: figures over the load for every scheduler, how the models are
 * cut, and how many places a query needs.
 */
import type { AccordionBundle, MalleableVariant } from "stratagem-runtime/internal/bundle/schema";
import { modelLetters } from "stratagem-runtime/internal/methods/accordion/describe/letters";
import { SCHEDULER_WORDS } from "stratagem-runtime/internal/methods/accordion/describe/scheduler-words";
import { captionedFigure, circleSample, lineSample } from "../../../report/captioned-figure.ts";
import { paceSections } from "../../../report/kit/pace-section.ts";
import { pipelineStyle } from "../../../report/kit/pipeline-style.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, listText, msText, ratioText } from "../../../report/number-text.ts";
import { renderPage } from "../../../report/page.ts";
import { drawBatches, needTable } from "./batch-figure.ts";
import { cutTable, drawCuts, shownDepths } from "./cut-figure.ts";
import { depthsOf } from "./depths.ts";
import { levelTable, meanings } from "./levels.ts";
import {
  drawActive,
  drawChanges,
  drawLatency,
  drawOccupancy,
  drawPriorities,
  drawViolations,
  type LoadEvidence,
} from "./load-figures.ts";
import { schedulerSample } from "./scheduler-marks.ts";
import { comparedSchedulers, schedulerTable, violationTable } from "./scheduler-table.ts";
import { isMalleable } from "./simulated-schedulers.ts";
import { sizeTable } from "./size-table.ts";
import { drawSpeedups } from "./speedup-figure.ts";
import { bundleFacts, leadText, lowPriorityText } from "./summary.ts";

interface AccordionReportContent extends LoadEvidence {
  readonly file: { readonly byteCount: number; readonly sha256: string };
}

/** The whole HTML document. The same content gives the same text. */
export function renderAccordionReport(content: AccordionReportContent): string {
  const { bundle, file, runs } = content;
  const keys = modelKeys(bundle);
  return renderPage({
    title: bundle.application,
    subtitle: "Stratagem malleable pipelines report",
    lead: leadText(bundle, runs),
    facts: bundleFacts(bundle, file),
    sections: [
      { id: "load", heading: "What load does", body: loadSection(content) },
      {
        id: "schedulers",
        heading: "The schedulers compared",
        body: schedulerSection(content),
      },
      { id: "places", heading: "Which places a query needs", body: needSection(bundle, keys) },
      { id: "models", heading: "How the models are cut", body: modelSection(bundle, keys) },
      {
        id: "levels",
        heading: "All levels",
        body: html`${levelTable(bundle)}<h3>What the numbers mean</h3>${meanings(bundle)}`,
      },
      ...paceSections(bundle),
    ],
    footer: footerText(content),
    variantCount: 0,
    style: pipelineStyle(keys) + RULES,
  });
}

const RULES = `.sample{width:26px;height:12px;vertical-align:middle;margin-right:4px}
.key svg.sample{height:12px}
#scheduler-table thead tr:first-child th{text-align:center}
#scheduler-table td:first-child{white-space:nowrap}
.more summary{cursor:pointer;font-size:.9rem;padding:6px 2px}
.more summary:focus-visible{outline:2px solid var(--accent)}
#size-table thead tr:first-child th{text-align:center}
#violation-table th:first-child,#violation-table td:first-child,
#size-load-table th:first-child,#size-load-table td:first-child,
#need-table td:first-child,#need-table th:first-child,
.pipelines th:first-child,.pipelines td:first-child{text-align:right}
.pipelines .cut,.pipelines th.cut{text-align:left;white-space:nowrap}
.pipelines td{white-space:nowrap}
.model{margin-top:1.6rem}
.model>h3{margin-bottom:0}
#level-table td:nth-child(2),#level-table thead tr:last-child th:nth-child(2){text-align:right}
`;

function loadSection(evidence: LoadEvidence): Markup {
  const { bundle, runs } = evidence;
  const { scheduler, reconfigurationMs } = bundle.policy;
  const changes = isMalleable(scheduler)
    ? captionedFigure(
        "Changes of places",
        drawChanges(evidence),
        "How often a running query goes on with other places, at " +
          `${msText(reconfigurationMs)} each.`,
      )
    : "";
  return html`${schedulerKey(evidence)}<div class="figures">
${captionedFigure(
  "Violations",
  drawViolations(evidence),
  "Late or dropped, on a logarithmic scale; the lowest line also stands for 0. The " +
    `thin line is what ${scheduler} drops.`,
)}
${captionedFigure(
  "Latency",
  drawLatency(evidence),
  "From arrival to the last instance, of the queries that are served: median (p50) and 99th " +
    `percentile of ${scheduler}, 99th of the others.`,
)}
${captionedFigure("Busy places", drawOccupancy(evidence), "Mean over time.")}
${captionedFigure("Active queries", drawActive(evidence), "Queries that run at a time.")}
${captionedFigure(
  "High and low priority",
  drawPriorities(evidence),
  `Under ${scheduler}. A query of low priority ${lowPriorityText(bundle)}.`,
)}
${changes}</div>${sizeTable(bundle, runs)}`;
}

function schedulerKey({ bundle, runs }: LoadEvidence): Markup {
  const own = bundle.policy.scheduler;
  const items = comparedSchedulers(bundle, runs).map(
    ({ scheduler }) =>
      html`<li>${schedulerSample(scheduler, scheduler === own)}${scheduler}${
        scheduler === own ? ", as the bundle states it" : ", simulated"
      }</li>\n`,
  );
  return html`<ul class="key">${items}</ul>`;
}

function schedulerSection({ bundle, runs }: LoadEvidence): Markup {
  const words = comparedSchedulers(bundle, runs).map(
    ({ scheduler }) => html`<li><b>${scheduler}</b>: ${SCHEDULER_WORDS[scheduler]}</li>\n`,
  );
  return html`<p>The same queries under each scheduler; the bundle
follows ${bundle.policy.scheduler}. Means over the levels, each level counting as
much.</p>${schedulerTable(bundle, runs)}${violationTable(bundle, runs)}<ul
class="note">${words}</ul>`;
}

function needSection(bundle: AccordionBundle, keys: readonly PipelineVariantKey[]): Markup {
  const { slo, policy } = bundle;
  const key = html`<ul class="key">${keys.map((one) => html`<li>${chip(one)} ${one.name}</li>`)}
<li>${lineSample(`stroke-width="1.2" stroke-dasharray="2 3"`, false)}as fast as there are
places</li><li>${circleSample()}hollow: not measured</li></ul>`;
  const isMixed = bundle.cluster.pools.length > 1;
  const best = isMixed ? " Shapes with the same number of places are represented by the best." : "";
  return html`<div class="figures"><div><h3>Fewest places that meet the SLO</h3><p>Instances of a
query that is done within ${msText(slo.latencyMs)} when it starts at once; queries of the
simulations have ${decimalText(policy.meanBatch, 1)} in the
mean.${best}</p>${needTable(bundle, keys)}</div>
${captionedFigure(
  "Speed-up",
  html`${drawSpeedups(bundle, keys)}${key}`,
  "Instances that pass per second, over those on " +
    `${isMixed ? "the first shape" : "one place"}.`,
)}</div>`;
}

function modelSection(bundle: AccordionBundle, keys: readonly PipelineVariantKey[]): Markup {
  const models = bundle.tasks.flatMap(({ variants }) => variants);
  const parts = models.flatMap((model, index) => {
    const key = keys[index];
    return key === undefined ? [] : [modelPart(bundle, model, key)];
  });
  const pools =
    bundle.cluster.pools.length > 1
      ? " A row counts the places of " +
        `${listText(bundle.cluster.pools.map(({ name }) => `pool ${name}`))}.`
      : "";
  return html`<p>Bars are the stages of a pipeline, as long as one instance takes in them; 0–4
stands for layers 0 to 3, as in the names of the stage files. The heaviest stage is solid: it says
how often an instance comes out.${pools}</p>${parts}`;
}

function modelPart(
  bundle: AccordionBundle,
  model: MalleableVariant,
  key: PipelineVariantKey,
): Markup {
  const cuts = drawCuts(bundle, model, key);
  const figures = [
    cuts === null ? "" : captionedFigure("Stages", cuts, originText(bundle, model)),
    captionedFigure(
      "Time by batch",
      drawBatches(bundle, model, key),
      "A line for each number of places; a ring is the largest batch that it meets the SLO with.",
    ),
  ];
  const side =
    cuts === null
      ? html`<div>${cutTable(bundle, model)}<p class="note">${originText(bundle, model)}</p></div>`
      : "";
  const below = cuts === null ? "" : cutTable(bundle, model);
  const layers = model.layerCount === 0 ? "" : `, ${counted(model.layerCount, "layer")}`;
  return html`<div class="model" id="model-${key.variant}"><h3>${chip(key)} ${model.name}</h3><p
class="note">Accuracy ${ratioText(model.accuracy)}${layers}, ${depthText(bundle, model)},
${stageFilesText(model)}.</p><div class="figures">${figures}${side}</div>${below}</div>\n`;
}

function depthText(bundle: AccordionBundle, model: MalleableVariant): string {
  const deepest = depthsOf(bundle, model).at(-1);
  return `${counted(deepest?.places ?? 1, "place")} at most`;
}

function stageFilesText({ stages }: MalleableVariant): string {
  return stages.length === 0
    ? "no stage files, so it can only be simulated"
    : counted(stages.length, "stage file");
}

/** Source of the times. */
function originText(bundle: AccordionBundle, model: MalleableVariant): string {
  const measured = shownDepths(bundle, model).filter(({ pipeline }) => pipeline.isMeasured);
  const count = shownDepths(bundle, model).length;
  if (model.layerCount === 0) {
    return (
      "The profile has speed-ups and no layers, so the model is not cut; speed-ups " +
      "between the given ones are interpolated."
    );
  }
  if (measured.length === count)
    return "All stages were measured as cut: the bars are 95th percentiles, the steps " + "means.";
  if (measured.length === 0)
    return "Dashed: times of stages are sums of their layers, not measured as cut.";
  return (
    `Stages of ${measured.length} of ${count} rows were measured as cut (bars are ` +
    "95th percentiles, steps means); those of the others, dashed, are sums of their layers."
  );
}

function footerText({ bundle, runs }: AccordionReportContent): string {
  const seeds = [...new Set(bundle.levels.map(({ expected }) => expected.seed))].join(", ");
  const fewest = Math.min(...runs.map(({ result }) => result.queries));
  const compared =
    runs.length === 0
      ? ""
      : " The schedulers were compared on " +
        `${rangeOf(runs.map(({ result }) => result.durationMs / 1000))} s at each load with ` +
        `at least ${decimalText(fewest)} queries, the same for all.`;
  return (
    "Expected values are what the bundle states, from simulations with seed " +
    `${seeds}.${compared} Every stage takes the time that the bundle's table has for it.`
  );
}

function rangeOf(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most
    ? decimalText(least, 1)
    : `${decimalText(least, 1)} to ${decimalText(most, 1)}`;
}

/** In the order of the models. */
function modelKeys(bundle: Pick<AccordionBundle, "tasks">): PipelineVariantKey[] {
  const letters = modelLetters(bundle);
  return bundle.tasks.flatMap(({ name: taskName, variants }) =>
    variants.map(({ name }, index) => ({
      // Every model has the hue that tasks have in other reports.
      task: index,
      variant: index,
      taskName,
      name,
      letter: letters.get(name) ?? "",
      color: `var(--variant-${index})`,
      rank: 0.5,
    })),
  );
}

/**
 * Report page of Loki's plans: the pipeline, the servers for every load, planned and simulated
 * figures.
 */
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { startOrigin } from "stratagem-runtime/internal/describe/pool-device";
import { variantLetters } from "stratagem-runtime/internal/methods/loki/describe/letters";
import { captionedFigure, circleSample, lineSample } from "../../../report/captioned-figure.ts";
import { figureGrid } from "../../../report/figure-grid.ts";
import {
  type ReportedFile,
  renderPlanPage,
  secondsText,
  taskLegend,
} from "../../../report/kit/plan-report.ts";
import { colored, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, msText, ratioText } from "../../../report/number-text.ts";
import { levelDetails, meanings, planTable } from "./levels.ts";
import { drawAccuracy, drawLatency, drawViolations } from "./load-figures.ts";
import { shedShare, stepChangeOf } from "./plan-marks.ts";
import { drawServers, drawTransitions, serverCount } from "./server-figures.ts";
import { bundleFacts, leadText } from "./summary.ts";
import { taskTree } from "./task-tree.ts";

interface LokiReportContent {
  readonly bundle: LokiBundle;
  readonly file: ReportedFile;
}

/** The whole HTML document. The same content gives the same text. */
export function renderLokiReport({ bundle, file }: LokiReportContent): string {
  const keys = variantKeys(bundle);
  return renderPlanPage(bundle, {
    kind: "pipeline",
    lead: leadText(bundle),
    facts: bundleFacts(bundle, file),
    sections: [
      {
        id: "pipeline",
        heading: "The pipeline",
        body: html`${taskTree(bundle, keys)}<p class="note">An arrow column says how many queries a
query leads to there. ${unusedText(bundle, keys)}</p>`,
      },
      { id: "load", heading: "What load does", body: loadSection(bundle, keys) },
    ],
    levelTable: planTable(bundle),
    meanings: meanings(bundle),
    plansLead: html`<p>Open a load to see what runs, and which paths the requests
take.</p>`,
    levelDetails: levelDetails(bundle, keys),
    footer: footerText(bundle),
    keys,
  });
}

function unusedText({ tasks }: LokiBundle, keys: readonly PipelineVariantKey[]): string {
  const count = tasks.reduce((sum, { variants }) => sum + variants.length, 0) - keys.length;
  if (count === 0) return "Every variant is in some plan.";
  return `A variant without a letter (${count} of ${count + keys.length}) is in no plan.`;
}

function loadSection(bundle: LokiBundle, keys: readonly PipelineVariantKey[]): Markup {
  return figureGrid([
    captionedFigure(
      "Servers",
      html`${drawServers(bundle, keys)}${taskLegend(bundle, keys)}`,
      serverCaption(bundle),
    ),
    captionedFigure("Accuracy", html`${accuracyKey()}${drawAccuracy(bundle)}`, stepCaption(bundle)),
    captionedFigure(
      "Violations",
      drawViolations(bundle),
      "Share of the requests that are late, dropped or shed in the simulation, on a logarithmic " +
        "scale; the lowest line also stands for 0.",
    ),
    captionedFigure(
      "Latency",
      drawLatency(bundle),
      "From arrival to the last answer in the simulation, over the requests served: median and " +
        "99th percentile.",
    ),
    captionedFigure(
      "Changing level",
      drawTransitions(bundle) ?? html`<p>${noTransitionText(bundle)}</p>`,
      transitionCaption(bundle),
    ),
  ]);
}

function accuracyKey(): Markup {
  return html`<ul class="key">
<li>${lineSample(`stroke-width="2.4"`, true)}planned</li>
<li>${circleSample()}simulated, of the requests in time</li>
<li>${lineSample(`stroke-width="1.2" stroke-dasharray="2 3"`, false)}simulated, a miss counting
0</li></ul>`;
}

function serverCaption(bundle: LokiBundle): string {
  const shed = bundle.levels.some(({ feasible }) => !feasible)
    ? " Pale bars are beyond the capacity: the requests above it are shed."
    : "";
  return (
    `Of ${decimalText(serverCount(bundle))} servers, by task (hue) and variant ` +
    `(darker is more accurate).${shed}`
  );
}

function stepCaption(bundle: LokiBundle): string {
  const change = stepChangeOf(bundle);
  if (change === null) {
    return `All levels are in the ${bundle.levels[0]?.plan.step ?? ""} step.`;
  }
  const { lastHardwareQps, firstAccuracyQps } = change;
  return (
    `In the grey band, between ${decimalText(lastHardwareQps, 2)} and ` +
    `${decimalText(firstAccuracyQps, 2)} requests/s, the most accurate variants stop ` +
    "fitting: below it load is met with more servers, above it with less accurate variants."
  );
}

function noTransitionText({ levels }: LokiBundle): string {
  return levels.length === 1
    ? "There is only one level."
    : "No change between adjacent levels loads a model.";
}

function transitionCaption({ levels, policy }: LokiBundle): string {
  if (levels.length === 1) return "";
  const cost =
    policy.modelLoadMs === 0
      ? "A model load is assumed to take no time."
      : `A server needs ${msText(policy.modelLoadMs)} for a model load${startOrigin(policy)} ` +
        "and serves nothing meanwhile.";
  return (
    "Servers that load another model when the load goes up to a level from the one below " +
    `(up), and from it to the one below (down). ${cost}`
  );
}

function footerText({ levels, arrivals }: LokiBundle): string {
  const process = arrivals.process === "gamma" ? `gamma (CV² ${arrivals.cv2})` : "Poisson";
  const shed = levels.map(shedShare).filter((share) => share > 0);
  const mostShed = shed.length === 0 ? "" : ` Up to ${ratioText(Math.max(...shed))} is shed.`;
  return (
    "Plans and proofs are those of the solver. Simulated values: each level under its " +
    `own load with ${process} arrivals, ${secondsText(levels)} with seed ` +
    `${levels[0]?.expected.seed ?? 0}, by the code that follows the plans.${mostShed}`
  );
}

/** Keys of the variants in the plan of some level: by task, and ascending in accuracy. */
export function variantKeys(bundle: LokiBundle): PipelineVariantKey[] {
  return colored(variantLetters(bundle));
}

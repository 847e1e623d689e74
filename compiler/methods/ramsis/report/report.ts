/** Report page of a bundle of tables: the policy, its promises, and simulated figures. */
import { type RamsisBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { captionedFigure, circleSample, lineSample } from "../../../report/captioned-figure.ts";
import { paceSections } from "../../../report/kit/pace-section.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";
import { type PageSection, renderPage } from "../../../report/page.ts";
import { variantKeys } from "../../../report/palette.ts";
import { classSections } from "./classes.ts";
import { type LoadEvidence, simulationGlyph } from "./evidence-marks.ts";
import { type Frontier, frontierSection } from "./frontier.ts";
import { type LatencyFrontier, latencyFrontierSection } from "./latency-frontier.ts";
import { levelSections, levelTable } from "./levels.ts";
import { drawAccuracy, drawViolations } from "./load-plots.ts";
import { drawLatency, drawShares } from "./served-plots.ts";
import type { SimulatedRun, SimulationPlan } from "./simulated-levels.ts";
import type { SimulationPoint } from "./simulation-file.ts";
import { facts, leadText, variantLegend } from "./summary.ts";

interface RamsisReportContent {
  readonly bundle: RamsisBundle;
  readonly file: { readonly byteCount: number; readonly sha256: string };
  readonly plan: SimulationPlan;
  readonly runs: readonly SimulatedRun[];
  /** Null if no level is solved again. */
  readonly frontier: Frontier | null;
  /** Null like `frontier`, and if the bundle states no latencies. */
  readonly latencies: LatencyFrontier | null;
  readonly simulations: readonly SimulationPoint[];
}

/** The whole HTML document. The same content gives the same text. */
export function renderRamsisReport(content: RamsisReportContent): string {
  const { bundle, file, plan, runs, frontier, latencies, simulations } = content;
  const keys = variantKeys(bundle.tasks[0]?.variants ?? []);
  const results = new Map(
    runs.filter((run) => run.variant === null).map((run) => [run.loadQps, run.result]),
  );
  const sample = `${decimalText(plan.queries)} queries`;
  const sections: PageSection[] = [
    { id: "variants", heading: "The variants", body: variantLegend(bundle, keys) },
    {
      id: "load",
      heading: "What load does",
      body: loadSection({ bundle, keys, runs, simulations }, sample),
    },
    {
      id: "policy",
      heading: "The policy, level by level",
      body: html`<p>Choose a load, in queries/s. A map says which variant runs next, by how many
queries wait${bundle.policy.balancer === "pooled" ? "" : " for the worker"} and how long the oldest
of them can wait; hover a cell for batch size and service
time.</p>${levelSections(bundle, keys, results)}`,
    },
    ...(frontier === null
      ? []
      : [
          {
            id: "frontier-section",
            heading: "Accuracy against the ceiling on violations",
            body: frontierSection(frontier),
          },
        ]),
    ...(latencies === null
      ? []
      : [
          {
            id: "latency-section",
            heading: "Accuracy against latency",
            body: latencyFrontierSection(latencies),
          },
        ]),
    { id: "levels", heading: "All levels", body: levelTable(bundle, results) },
    ...paceSections(bundle),
    ...classSections(bundle, results),
  ];
  return renderPage({
    title: bundle.application,
    subtitle: "Stratagem policy report",
    lead: leadText(bundle, results),
    facts: facts(bundle, file),
    sections,
    footer:
      `Expected values are what the bundle states. Simulated values: ${sample} per level and ` +
      `variant with seed ${plan.seed}, ${arrivalsText(bundle)} arrivals, every batch taking ` +
      "the time the policy was computed with.",
    variantCount: keys.length,
  });
}

function arrivalsText({ arrivals }: RamsisBundle): string {
  return arrivals.process === "gamma" ? `gamma (CV² ${arrivals.cv2})` : "Poisson";
}

function loadSection(evidence: LoadEvidence, sample: string): Markup {
  const { bundle, simulations } = evidence;
  const ceiling = ratioText(violationCeiling(bundle.slo));
  return html`<ul class="key">
<li>${lineSample(`stroke-width="2.4"`, true)}this policy, expected</li>
<li>${circleSample()}this policy, simulated, ${sample}</li>
<li>${lineSample(`stroke-width="1.6" stroke-opacity=".5"`, false)}one variant alone, simulated, in
its colour</li>
<li>${lineSample(`stroke-width="1.2" stroke-dasharray="2 3"`, false)}bound: no policy that keeps the
ceiling is expected to give more</li>
${simulations.map(
  (one, index) =>
    html`<li><span class="sign">${simulationGlyph(index)}</span>${
      one.label
    }, ${decimalText(one.loadQps)} queries/s</li>`,
)}</ul>
<p class="note">${ceiling} of the queries may be late.</p>
<div class="figures">
${captionedFigure(
  "Accuracy",
  drawAccuracy(evidence),
  "Accuracy per query, a late one counting as wrong. Lines that leave the frame below are " +
    "variants that are less accurate, or that lose queries at this load.",
)}
${captionedFigure(
  "Violations",
  drawViolations(evidence),
  "Share of the queries that are late or dropped, on a logarithmic scale; the lowest line " +
    "also stands for 0.",
)}
${captionedFigure("Variants", drawShares(evidence), "Shares of the queries in the simulation.")}
${captionedFigure(
  "Latency",
  drawLatency(evidence),
  "From arrival to answer, in the simulation: median, 95th and 99th percentile.",
)}
</div>`;
}

/** Renders the results of `truth` as one page: table, quantile plots and timelines. */
import { captionedFigure, lineSample } from "../../report/captioned-figure.ts";
import { definitionList } from "../../report/definition-list.ts";
import { figureGrid } from "../../report/figure-grid.ts";
import { html, type Markup } from "../../report/markup.ts";
import { msText, ratioText } from "../../report/number-text.ts";
import { type PageSection, renderPage } from "../../report/page.ts";
import { headRow, tableRow } from "../../report/table-row.ts";
import { percentileText } from "../../simulate/latency-sample.ts";
import type {
  Check,
  CheckName,
  Outcome,
  TruthDocument,
  TruthPoint,
  Verdict,
} from "../truth-document.ts";
import { machineText, paceText } from "../truth-table.ts";
import { drawQuantiles } from "./quantile-figure.ts";
import { drawTimeline } from "./timeline-figure.ts";

const STYLE = `td.broken{color:var(--limit);font-weight:700}
.verdict{font-weight:700;white-space:nowrap}.verdict.held{color:#18794e}
.verdict.broken{color:var(--limit)}
@media (prefers-color-scheme:dark){.verdict.held{color:#5bd6a0}}
p.cause{max-width:none;padding:.5rem .8rem;background:var(--panel);
border-left:3px solid var(--limit)}
.figures{grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))}
figure{max-width:none}
.key svg{color:inherit}td{white-space:nowrap}
#promises table{width:100%}#promises th,#promises td{padding-right:8px}`;

/** Returns a self-contained HTML document. */
export function truthPage(documents: readonly TruthDocument[]): string {
  const held = documents.reduce((sum, one) => sum + one.held, 0);
  const better = documents.reduce((sum, one) => sum + one.better, 0);
  const of = documents.reduce((sum, one) => sum + one.of, 0);
  const names = documents.map(({ application }) => application).join(", ");
  return renderPage({
    title:
      `${held} of ${of} promises hold` + (better === 0 ? "" : `, ${better} better than promised`),
    subtitle: `stratagem truth · ${names}`,
    lead:
      "Each load was sent to a live server and, with the same arrivals, to the simulation " +
      "that the promises come from, at the pace that the server measured. A point holds if p50 " +
      "and p99 (of fewer than 1,000 batches: a value of their 99% interval, in brackets) are " +
      "within 20% or 2 ms, violations within 0.5 points, and accuracy within 0.2. A point that " +
      "deviates favourably is better than promised.",
    facts: factsOf(documents),
    sections: [
      { id: "promises", heading: "Promised and measured", body: tables(documents) },
      ...documents.flatMap((document, at) => pointSections(document, at)),
    ],
    footer: "Latencies count from the time at which a request was sent.",
    variantCount: 1,
    style: STYLE,
  });
}

function factsOf(documents: readonly TruthDocument[]): Markup {
  const [first] = documents;
  if (first === undefined) return html``;
  const { machine } = first;
  const points = documents.flatMap((document) => document.points);
  const lags = points.flatMap(({ measured: { sendLagMs } }) => sendLagMs?.p99 ?? []);
  const shares = points.flatMap(({ machine: { generatorShare } }) => generatorShare ?? []);
  const steals = points.flatMap(({ machine: { stealShare } }) => stealShare ?? []);
  const without = [...new Set(documents.flatMap((document) => document.latenciesWithout))];
  return definitionList([
    ["Machine", machineText(machine)],
    ["Used by other guests", `at most ${most(steals, ratioText)} of the processors in a run`],
    ["Load generator", `at most ${most(shares, ratioText)} of the processors`],
    ["Sending delay", `at most ${most(lags, msText)} at p99`],
    ...(without.length === 0 ? [] : [["Predicted without", without.join(", ")] as const]),
  ]);
}

function most(values: readonly number[], text: (value: number) => string): string {
  return values.length === 0 ? "unknown" : text(Math.max(...values));
}

const HEAD = [
  "requests/s",
  "run",
  "pace",
  "p50 promised",
  "measured",
  "p99 promised",
  "measured",
  "late promised",
  "measured",
  "accuracy promised",
  "measured",
  "verdict",
];

function tables(documents: readonly TruthDocument[]): Markup {
  return html`${documents.map(
    ({ application, method, slo, points }) => html`<h3>${application} (${method}), SLO ${msText(
      slo.latencyMs,
    )}, at most ${ratioText(slo.ceiling)} late</h3>
${table(HEAD, points.map(rowOf))}`,
  )}`;
}

function rowOf(point: TruthPoint): Markup {
  const { loadQps, run, predicted, measured, machine } = point;
  return tableRow([
    String(loadQps),
    String(run),
    paceText(machine.pace),
    percentileOf(predicted, "p50"),
    cell(point, "p50", percentileOf(measured, "p50")),
    percentileOf(predicted, "p99"),
    cell(point, "p99", percentileOf(measured, "p99")),
    ratioText(predicted.violationRate),
    cell(point, "violations", ratioText(measured.violationRate)),
    ratioText(predicted.accuracy),
    cell(point, "accuracy", ratioText(measured.accuracy)),
    html`<td>${VERDICTS[point.verdict]}</td>`,
  ]);
}

function cell({ checks }: TruthPoint, name: CheckName, text: string): Markup {
  const check = checks.find((one: Check) => one.name === name);
  if (check === undefined || check.holds) return html`<td>${text}</td>`;
  return html`<td class="${check.isKept ? "better" : "broken"}">${text}</td>`;
}

const VERDICTS: Readonly<Record<Verdict, Markup>> = {
  holds: html`<span class="verdict held">✓ holds</span>`,
  better: html`<span class="verdict held">✓ better</span>`,
  slower: html`<span class="verdict broken">✗ slower</span>`,
  broken: html`<span class="verdict broken">✗ broken</span>`,
};

function percentileOf(outcome: Outcome, name: "p50" | "p99"): string {
  const ms = outcome[`${name}Ms`];
  return ms === null ? "–" : percentileText(ms, outcome.intervalsMs?.[name], msText);
}

function msOrDash(ms: number | null): string {
  return ms === null ? "–" : msText(ms);
}

function pointSections(document: TruthDocument, at: number): PageSection[] {
  const { application, points, slo } = document;
  return points.map((point, index) => {
    const id = `point-${at}-${index}`;
    const timeline = drawTimeline(point, slo.latencyMs, `${id}-time`);
    const verdict = html`<p>${VERDICTS[point.verdict]} ${countsText(point)}</p>`;
    const run = point.run === 1 ? "" : `, run ${point.run}`;
    return {
      id,
      heading: `${application} at ${point.loadQps} requests/s${run}`,
      body: html`${verdict}${causeOf(point)}${figureGrid([
        captionedFigure(
          "Percentiles of the latency",
          drawQuantiles(point, slo.latencyMs, `${id}-quantiles`),
          "On the diagonal, measurement equals prediction; the band is the " +
            "tolerance. Each dot is a percentile, from 0 to 100.",
        ),
        html`<figure><h3>Second by second</h3>${timeline}${KEY}</figure>`,
      ])}${ablationOf(point)}`,
    };
  });
}

/** Shows the prediction without some of its components; empty if unknown. */
function ablationOf({ predicted, ablation, measured }: TruthPoint): Markup {
  const rows = [
    ["predicted", predicted],
    ["without the serving path", ablation.withoutPath],
    ["without contention", ablation.withoutContention],
    ["without both", ablation.withoutBoth],
    ["with the stalls of this run", ablation.asItWas],
    ["measured", measured],
  ] as const;
  if (ablation.withoutPath === null) return html``;
  const cells = rows.flatMap(([name, outcome]) => {
    if (outcome === null) return [];
    const { p50Ms, p99Ms, violationRate } = outcome;
    return [tableRow([name, msOrDash(p50Ms), msOrDash(p99Ms), ratioText(violationRate)])];
  });
  return table(["", "p50", "p99", "late"], cells);
}

function table(head: readonly string[], rows: readonly Markup[]): Markup {
  const body = html`<thead>${headRow(head)}</thead><tbody>${rows}</tbody>`;
  return html`<div class="scroll"><table>${body}</table></div>`;
}

const KEY = html`<ul class="key">
<li style="color:var(--variant-0)">${lineSample(`stroke-width="2"`, true)}p50 measured</li>
<li style="color:var(--accent)">${lineSample(`stroke-width="2"`, true)}p99 measured</li>
<li>${lineSample(`stroke-width="1.6" stroke-dasharray="4 3"`, false)}predicted</li>
<li style="color:var(--limit)">${lineSample(`stroke-width="7"`, false)}late or lost</li>
<li style="opacity:.5">${lineSample(`stroke-width="7"`, false)}used by other guests</li></ul>`;

function countsText({ queries, measured, earlier }: TruthPoint): string {
  const errors = Object.entries(measured.errors).map(([reason, count]) => `${count} × ${reason}`);
  const lost = errors.length === 0 ? "" : `, without an answer ${errors.join(", ")}`;
  const labels = measured.accuracyByLabels;
  const right =
    labels === null
      ? ""
      : `; by labels ${ratioText(labels.estimate)} are correct (99% interval: ` +
        `${ratioText(labels.lower)} to ${ratioText(labels.upper)})`;
  const tries =
    earlier.length === 0 ? "" : `; repeated ${earlier.length} times because of disturbances`;
  return `${queries} requests${lost}${right}${tries}.`;
}

function causeOf({ cause }: TruthPoint): Markup {
  return cause === null ? html`` : html`<p class="cause">Cause: ${cause}.</p>`;
}

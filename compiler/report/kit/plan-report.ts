/** Common parts of the pages of methods with plans: facts, sections, tables, legends. */
import { type Bundle, type Slo, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { servingPathWords } from "stratagem-runtime/internal/describe/serving-path";
import { definitionList } from "../definition-list.ts";
import { html, type Markup } from "../markup.ts";
import { counted, decimalText, msText, ratioText } from "../number-text.ts";
import { type PageSection, renderPage } from "../page.ts";
import { headRow } from "../table-row.ts";
import { limited } from "./limited-cell.ts";
import { paceSections } from "./pace-section.ts";
import { pipelineStyle } from "./pipeline-style.ts";
import { drawTaskGraph, type StagePipeline } from "./task-graph.ts";
import { chip, type PipelineVariantKey } from "./variant-keys.ts";

/** Size and digest of a bundle's file. */
export interface ReportedFile {
  readonly byteCount: number;
  readonly sha256: string;
}

export type Facts = readonly (readonly [name: string, text: string])[];

/** Describes the bundle. @param facts of the method. */
export function planFacts(bundle: Bundle, deadline: string, facts: Facts, file: ReportedFile) {
  const { slo, cluster, provenance } = bundle;
  return definitionList([
    [deadline, msText(slo.latencyMs)],
    ["Serving path", servingPathWords(cluster) ?? "not included in latencies"],
    ["Violations allowed", ceilingText(slo)],
    ...facts,
    ["Compiled by", `${provenance.compiler} from ${counted(provenance.inputs.length, "file")}`],
    ["Bundle", `${decimalText(file.byteCount)} bytes, SHA-256 ${file.sha256}`],
  ]);
}

function ceilingText(slo: Slo): string {
  const ceiling = ratioText(violationCeiling(slo));
  return slo.maxViolationRate === null
    ? `${ceiling}, from the ${decimalText(slo.percentile, 3)}th percentile`
    : ceiling;
}

/** Formats the loads of the levels: a single one, or the range. */
export function loadsText(levels: readonly { readonly loadQps: number }[]): string {
  const [lowest, highest] = [levels[0], levels.at(-1)].map((level) =>
    decimalText(level?.loadQps ?? Number.NaN, 2),
  );
  return levels.length === 1
    ? `at ${lowest} requests/s`
    : `at loads from ${lowest} to ${highest} requests/s`;
}

/** Returns the first sentence about plans with a goal. */
export function goalText({ application, tasks, levels, slo }: Bundle): string {
  return (
    `These plans run ${application}, a pipeline of ${counted(tasks.length, "task")}, ` +
    `${loadsText(levels)}; the goal is that ${ratioText(1 - violationCeiling(slo))} of the ` +
    `requests are done within ${msText(slo.latencyMs)}.`
  );
}

/** Formats the simulated duration of the levels. */
export function secondsText(
  levels: readonly { readonly expected: { readonly durationMs: number } }[],
): string {
  const durations = levels.map(({ expected }) => expected.durationMs / 1000);
  const [least, most] = [Math.min(...durations), Math.max(...durations)].map((one) =>
    decimalText(one, 1),
  );
  return least === most ? `${most} s` : `${least} to ${most} s`;
}

interface PlanPage {
  readonly kind: string;
  readonly lead: string;
  readonly facts: Markup;
  /** Sections before the table of all levels. */
  readonly sections: readonly PageSection[];
  readonly levelTable: Markup;
  readonly meanings: Markup;
  /** Text before the foldable levels. */
  readonly plansLead: Markup;
  readonly levelDetails: Markup;
  readonly footer: string;
  readonly keys: readonly PipelineVariantKey[];
  readonly rules?: string;
}

/** Renders the complete HTML document. */
export function renderPlanPage(bundle: Bundle, page: PlanPage): string {
  return renderPage({
    title: bundle.application,
    subtitle: `Stratagem ${page.kind} report`,
    lead: page.lead,
    facts: page.facts,
    sections: [
      ...page.sections,
      {
        id: "levels",
        heading: "All levels",
        body: html`${page.levelTable}<h3>What the numbers mean</h3>${page.meanings}`,
      },
      ...paceSections(bundle),
      {
        id: "plans",
        heading: "The plans, level by level",
        body: html`${page.plansLead}${page.levelDetails}`,
      },
    ],
    footer: page.footer,
    variantCount: 0,
    style: pipelineStyle(page.keys) + (page.rules ?? ""),
  });
}

/** Style of a task graph beside a table. */
export const STAGE_RULES = `.stages{display:flex;flex-wrap:wrap;gap:8px 36px;align-items:flex-start}
.stages>figure{max-width:100%}
.stages>div{flex:1 1 420px;min-width:0}
`;

/** Renders the graph of the tasks with a note about its edges. */
export function notedTaskGraph(bundle: StagePipeline): Markup {
  const hasExclusive =
    bundle.entryBranch === "exclusive" || bundle.tasks.some(({ branch }) => branch === "exclusive");
  const hasJoin = bundle.tasks.some(({ edges }) => edges.length > 1);
  const notes = [
    "Percentages are the shares of the queries on an edge.",
    ...(hasExclusive ? ["A query takes at most one of the dashed edges."] : []),
    ...(hasJoin ? ["A join waits for all queries sent to it."] : []),
  ];
  return drawTaskGraph(bundle, notes.join(" "));
}

/** Legend of the variants in use for every task, in the order of the keys. */
export function taskLegend(
  { tasks }: Pick<Bundle, "tasks">,
  keys: readonly PipelineVariantKey[],
): Markup {
  const rows = tasks.map(({ name }, task) => {
    const items = keys.filter((key) => key.task === task);
    return html`<ul class="key"><li>${name}:</li>${items.map(
      (key) => html`<li>${chip(key)} ${key.name}</li>`,
    )}</ul>\n`;
  });
  return html`${rows}`;
}

/** Table with one row per level. @param groups row of cells above the heads. */
export function levelsTable(groups: Markup, heads: readonly string[], rows: readonly Markup[]) {
  return html`<div class="scroll" role="region" aria-label="all levels" tabindex="0"><table
id="level-table"><thead>
${groups}
${headRow(heads)}</thead>
<tbody>${rows}</tbody></table></div>`;
}

/** Cell of a time that is highlighted above the SLO. */
export function limitedMs(ms: number, { latencyMs }: Slo): Markup {
  return limited(ms > latencyMs, decimalText(ms, 1));
}

/** Foldable part for each level. */
export function levelParts<L extends { readonly loadQps: number }>(
  levels: readonly L[],
  partOf: (level: L, index: number) => { readonly note: Markup; readonly body: Markup },
): Markup {
  const parts = levels.map((level, index) => {
    const { note, body } = partOf(level, index);
    const load = decimalText(level.loadQps, 2);
    return html`<details id="level-${index}"><summary><b>${load} requests/s</b>
<span class="note">${note}</span></summary>
${body}</details>\n`;
  });
  return html`<div class="plans">${parts}</div>`;
}

/** Table with its own heading. */
export function wordTable(
  { title, className }: { readonly title: string; readonly className: string },
  heads: readonly string[],
  rows: readonly Markup[],
): Markup {
  return html`<h3>${title}</h3><div class="scroll"><table class="${className}">
<thead>${headRow(heads)}</thead>
<tbody>${rows}</tbody></table></div>`;
}

/**
 * The levels one by one: a table of all, what its numbers mean, and for each its plans and its
 * response to bursts.
 */
import {
  type ScalePlan,
  type ThemisBundle,
  type ThemisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import {
  type BurstStage,
  burstsFrom,
  distinctBursts,
} from "stratagem-runtime/internal/methods/themis/describe/burst-view";
import { themisMissed } from "stratagem-runtime/internal/methods/themis/describe/missed";
import {
  chosenText,
  planView,
  type TaskView,
} from "stratagem-runtime/internal/methods/themis/describe/plan-view";
import { definitionList } from "../../../report/definition-list.ts";
import { feasibleCell, missedWords } from "../../../report/kit/feasible-cell.ts";
import { limited } from "../../../report/kit/limited-cell.ts";
import { levelParts, levelsTable, limitedMs } from "../../../report/kit/plan-report.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, msText, ratioText } from "../../../report/number-text.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";

/** Maximum rows of a level's bursts, including the lowest and the highest load. */
const MAX_BURSTS = 8;

/** One row per level. */
export function levelTable(bundle: ThemisBundle): Markup {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  const rows = levels.map((level) => {
    const { loadQps, capacityQps, feasible, horizontal, vertical, joint, steady, solve } = level;
    const { violationRate, latencyMsP50, latencyMsP99 } = steady.expected;
    return tableRow([
      decimalText(loadQps, 2),
      limited(!feasible, decimalText(capacityQps, 2)),
      coresText(horizontal),
      coresText(vertical),
      coresText(joint),
      decimalText(steady.cores),
      limitedMs(steady.latencyMs, slo),
      solve.quantile === null ? "–" : decimalText(solve.quantile, 3),
      decimalText(latencyMsP50, 1),
      limitedMs(latencyMsP99, slo),
      limited(violationRate > ceiling, ratioText(violationRate)),
      feasibleCell(feasible, themisMissed(bundle, level)),
    ]);
  });
  return levelsTable(
    html`<tr><th></th><th></th><th colspan="3">cores of the plan</th
      ><th colspan="3">followed</th><th
colspan="3">simulated</th><th></th></tr>`,
    [
      "requests/s",
      "planned for",
      "horizontal",
      "vertical",
      "joint",
      "cores",
      "model, ms",
      "quantile",
      "p50, ms",
      "p99, ms",
      "violations",
      "feasible",
    ],
    rows,
  );
}

function coresText(plan: ScalePlan | null): string {
  return plan === null ? "–" : decimalText(plan.cores);
}

/** One sentence for each number of the table and of the levels. */
export function meanings({ slo, policy }: ThemisBundle): Markup {
  const fewest = policy.solver === "exact" ? "Fewest cores" : "Cores that the solver found";
  const entries: readonly (readonly [string, string])[] = [
    [
      "Requests/s, planned for",
      "The load of the level, and the load of its plan, which is lower if " +
        "the pool cannot carry the level's.",
    ],
    [
      "Horizontal",
      `${fewest} if every instance has one core, by the latency model at the quantile; ` +
        "a dash if there is no such plan.",
    ],
    ["Vertical", `${fewest} if every task is one instance, by the same model.`],
    ["Joint", `${fewest} if both are free, by the same model.`],
    ["Followed", "The plan that runs while the load is that of the level."],
    [
      "Model",
      "Longest path through the pipeline: whole batches, waiting at the quantile, and hops.",
    ],
    ["Quantile", "Quantile of the waiting times in the model; a higher one reserves more."],
    [
      "p50, p99",
      "Median and 99th percentile of the time from a request's arrival to its last answer, in " +
        `the simulation; red above ${msText(slo.latencyMs)}.`,
    ],
    [
      "Violations",
      "Share of the requests that miss the SLO in a simulation of random arrivals at the " +
        `load of the plan; red above ${ratioText(violationCeiling(slo))}.`,
    ],
    [
      "Feasible",
      "Whether the model has a plan for the load in the pool, and which limits are missed, " +
        "by how much; violations are those of the simulation.",
    ],
    ["Utilisation", "Load over what all instances serve with whole batches."],
  ];
  return definitionList(entries);
}

/** One expandable part for each level. */
export function levelDetails(bundle: ThemisBundle, keys: readonly PipelineVariantKey[]): Markup {
  return levelParts(bundle.levels, (level, index) => {
    const { steady, feasible } = level;
    const missed = missedWords(themisMissed(bundle, level));
    const beyond = feasible ? "" : html`, <span class="over">not feasible: ${missed}</span>`;
    return {
      note: html`${counted(steady.cores, "core")}${beyond}`,
      body: html`<p>${planText(bundle, level)}</p>
${stageTable(bundle, level, keys)}${planTable(bundle, level)}${burstTable(bundle, index)}`,
    };
  });
}

function planText(bundle: ThemisBundle, level: ThemisLevel): string {
  const { steady, capacityQps, feasible, solve } = level;
  const { processingMs, accuracy } = planView(bundle, steady, capacityQps);
  const binding = solve.bindingTask === null ? undefined : bundle.tasks[solve.bindingTask]?.name;
  const why = binding === undefined ? "" : `, limited by ${binding}`;
  const other = feasible
    ? ""
    : `The pool has no plan for this load${why}: this one is for ` +
      `${decimalText(capacityQps, 1)} requests/s. `;
  const waitingMs = Math.max(0, steady.latencyMs - processingMs);
  return (
    `${other}The longest path takes ${msText(steady.latencyMs)} by the model: ` +
    `${msText(processingMs)} for whole batches and hops, ${msText(waitingMs)} waiting.` +
    (accuracy === undefined ? "" : ` Its answers are ${ratioText(accuracy)} accurate.`)
  );
}

function stageTable(
  bundle: ThemisBundle,
  { steady, capacityQps }: ThemisLevel,
  keys: readonly PipelineVariantKey[],
): Markup {
  const rows = planView(bundle, steady, capacityQps).stages.map((stage, task) =>
    tableRow([
      html`<td>${chip(keys[task])} ${stageName(stage)}</td>`,
      stage.instances,
      stage.cores,
      stage.batch,
      decimalText(stage.latencyMs, 1),
      ratioText(stage.sloShare),
      decimalText(stage.loadQps, 1),
      decimalText(stage.throughputQps, 1),
      ratioText(stage.utilisation),
    ]),
  );
  return html`<h3>Tasks of the plan that is followed</h3><div class="scroll"><table>
<thead>${headRow([
    "task",
    "instances",
    "cores each",
    "batch",
    "ms",
    "of the SLO",
    "load/s",
    "throughput/s",
    "utilisation",
  ])}</thead>
<tbody>${rows}</tbody></table></div>`;
}

/** A task, with its variant and pool if there are several. */
function stageName({ task, variant, pool }: TaskView): string {
  return [task, variant ?? [], pool === undefined ? [] : `on ${pool}`].flat().join(" ");
}

function planTable({ tasks, cluster }: ThemisBundle, level: ThemisLevel): Markup {
  const kinds = [
    ["horizontal", level.horizontal],
    ["vertical", level.vertical],
    ["joint", level.joint],
  ] as const;
  const rows = kinds.map(([kind, plan]) => {
    if (plan === null) {
      return html`<tr class="none"><td>${kind}</td><td>–</td><td>–</td>
<td>–</td>${tasks.map(() => html`<td>–</td>`)}</tr>\n`;
    }
    const { cores, latencyMs, expected, stages } = plan;
    const cells = stages.map((one, task) => {
      const chosen = chosenText(tasks[task]?.variants ?? [], one, cluster.pools);
      return html`<td>${chosen}${one.instances} × ${one.cores}, b ${one.batch}</td>`;
    });
    return tableRow([
      kind,
      decimalText(cores),
      decimalText(latencyMs, 1),
      ratioText(expected.violationRate),
      cells,
    ]);
  });
  return html`<h3>Plans of each kind</h3><div class="scroll"><table class="kinds"><thead><tr>
<th>plan</th><th>cores</th><th>ms</th><th>violations</th>${tasks.map(
    ({ name }) => html`<th>${name}</th>`,
  )}</tr></thead>
<tbody>${rows}</tbody></table></div><p class="note">Of each task: instances × cores, b the largest
batch.</p>`;
}

function burstTable(bundle: ThemisBundle, index: number): Markup {
  const bursts = spread(distinctBursts(burstsFrom(bundle, index)), MAX_BURSTS);
  if (bursts.length === 0) return html``;
  const rows = bursts.map(({ loadQps, cores, stages }) =>
    tableRow([decimalText(loadQps, 2), decimalText(cores), stages.map(burstCell)]),
  );
  return html`<h3>Response to a burst</h3><div class="scroll"><table class="bursts"><thead><tr>
<th>up to requests/s</th><th>cores</th>${bundle.tasks.map(
    ({ name }) => html`<th>${name}</th>`,
  )}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function burstCell({ instances, cores, batch, extras, extraCores }: BurstStage): Markup {
  const more = extras === 0 ? "" : html` <b>+ ${extras} × ${extraCores}</b>`;
  return html`<td>${instances} × ${cores}${more}, b ${batch}</td>`;
}

/** Up to `most` items, including the first and the last. */
function spread<Item>(items: readonly Item[], most: number): Item[] {
  if (items.length <= most) return [...items];
  const step = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, at) => items[Math.round(at * step)]).filter(
    (item) => item !== undefined,
  );
}

/**
 * The levels one by one: a table of all, what its numbers mean, and for each its instances and
 * paths.
 */
import {
  type LokiBundle,
  type LokiLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { lokiMissed } from "stratagem-runtime/internal/methods/loki/describe/missed";
import {
  type PathView,
  planView,
} from "stratagem-runtime/internal/methods/loki/describe/plan-view";
import { definitionList } from "../../../report/definition-list.ts";
import { feasibleCell } from "../../../report/kit/feasible-cell.ts";
import { limited } from "../../../report/kit/limited-cell.ts";
import { levelParts, levelsTable, limitedMs } from "../../../report/kit/plan-report.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import {
  decimalText,
  listText,
  msText,
  ratioText,
  shareText,
} from "../../../report/number-text.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";
import { shedShare } from "./plan-marks.ts";

/** One row per level. */
export function planTable(bundle: LokiBundle): Markup {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  const rows = levels.map((level) => {
    const { loadQps, plan, expected, transition, solve } = level;
    const violations = limited(expected.violationRate > ceiling, ratioText(expected.violationRate));
    return tableRow([
      decimalText(loadQps, 2),
      plan.step,
      decimalText(plan.servers),
      shedCell(level),
      ratioText(plan.accuracy),
      ratioText(expected.accuracyPerSatisfied),
      ratioText(expected.accuracyPerQuery),
      violations,
      decimalText(expected.latencyMsP50, 1),
      limitedMs(expected.latencyMsP99, slo),
      transition.modelLoadsFromBelow ?? "–",
      transition.modelLoadsFromAbove ?? "–",
      proofText(solve),
      feasibleCell(level.feasible, lokiMissed(bundle, level)),
    ]);
  });
  return levelsTable(
    html`<tr><th></th><th colspan="4">plan</th><th colspan="5">simulated</th
      ><th colspan="2">model loads</th>
<th></th><th></th></tr>`,
    [
      "requests/s",
      "step",
      "servers",
      "shed",
      "accuracy",
      "accuracy per satisfied",
      "accuracy per request",
      "violations",
      "p50, ms",
      "p99, ms",
      "from below",
      "from above",
      "proof",
      "feasible",
    ],
    rows,
  );
}

function shedCell(level: LokiLevel): Markup {
  return level.feasible ? html`<td>–</td>` : limited(true, ratioText(shedShare(level)));
}

function proofText({ status, gap }: LokiLevel["solve"]): string {
  return status === "optimal" ? "optimal" : `gap ${decimalText(gap, 4)}`;
}

/** One sentence for each number of the table and of the levels. */
export function meanings({ slo, leaves }: LokiBundle): Markup {
  const deadline = msText(slo.latencyMs);
  const weighted = leaves.length === 1 ? "" : ", weighted over the tasks that end a path";
  const entries: readonly (readonly [string, string])[] = [
    [
      "Load",
      "The requests per second that the plan was made for; a measured load takes the " +
        "lowest level that is not below it.",
    ],
    [
      "Step",
      "Hardware: only the most accurate variants, on the fewest servers found that carry " +
        "the load; accuracy: the most accurate mix of variants found that carries it on all " +
        "servers.",
    ],
    ["Shed", "Share of the load beyond the capacity: this share of the requests is rejected."],
    ["Planned accuracy", `Mean end-to-end accuracy of the paths that requests take${weighted}.`],
    [
      "Accuracy per satisfied",
      "The same in the simulation, over the requests whose every query was served in time.",
    ],
    ["Accuracy per request", "The same over all requests, one that is late or dropped counting 0."],
    [
      "Violations",
      `Share of the requests that are answered after ${deadline}, dropped or shed; red above ` +
        `${ratioText(violationCeiling(slo))}.`,
    ],
    [
      "p50, p99",
      "Percentiles of the time from arrival to the last answer, of the requests served.",
    ],
    [
      "Model loads",
      "Servers that have to load another model when the level follows the one below or above it.",
    ],
    [
      "Proof",
      "Optimal if, by the profiles and without queues, no plan for the load is better; a " +
        "gap is how much better one could be at most: servers in the hardware step, accuracy " +
        "in the other.",
    ],
    [
      "Feasible",
      "Whether there is a plan for the load, and which limits it misses, by how much; " +
        "violations are those of the simulation.",
    ],
    [
      "Replicas, batch, queries/s each",
      "Servers that run the variant, the most queries they take at once, and what one of " +
        "them carries with full batches.",
    ],
    [
      "Share, execution",
      "Of a path: the share of the requests that take it, and the time of its full batches " +
        "one after the other, without waiting.",
    ],
  ];
  return definitionList(entries);
}

/** One expandable part for each level: its instances, and the paths that requests take. */
export function levelDetails(bundle: LokiBundle, keys: readonly PipelineVariantKey[]): Markup {
  const keyOf = new Map(keys.map((key) => [nameOf(key.taskName, key.name), key]));
  return levelParts(bundle.levels, (level) => {
    const { plan } = level;
    const shed = shedShare(level);
    const beyond = level.feasible ? "" : html`, <span class="over">${shareText(shed)} shed</span>`;
    return {
      note: html`${plan.step} step, ${serversText(plan.servers)},
accuracy ${ratioText(plan.accuracy)}${beyond}`,
      body: html`<p>${planText(level)}${stageText(bundle, level)}</p>
<div class="plan"><div>${instanceTable(bundle, level, keyOf)}</div>
<div>${pathTable(bundle, level, keyOf)}</div></div>`,
    };
  });
}

type KeyOf = ReadonlyMap<string, PipelineVariantKey>;

/** Key of a variant, joined by a character that names cannot hold unescaped. */
function nameOf(task: string, variant: string): string {
  return JSON.stringify([task, variant]);
}

function serversText(count: number): string {
  return `${decimalText(count)} ${count === 1 ? "server" : "servers"}`;
}

/** Load that the plan carries beyond its level's, or that it leaves. */
function planText({ loadQps, feasible, capacityQps, plan }: LokiLevel): string {
  if (!feasible) {
    return (
      "No plan carries this load: this is the one for the capacity of " +
      `${decimalText(capacityQps, 1)} requests/s, and the other ` +
      `${decimalText(loadQps - capacityQps, 1)} requests/s are shed.`
    );
  }
  const headroom = plan.demandQps / loadQps - 1;
  return headroom < 1e-9
    ? "The plan carries this load and no more."
    : `The plan carries ${decimalText(plan.demandQps, 1)} requests/s, ${ratioText(headroom)} ` +
        "more than this load.";
}

/** Tasks with a table that chooses the variant of every batch. */
function stageText({ tasks }: LokiBundle, { stages }: LokiLevel): string {
  const tables = (stages ?? []).flatMap((stage, task) =>
    stage === null ? [] : [`${tasks[task]?.name ?? ""} (within ${msText(stage.budgetMs)})`],
  );
  if (tables.length === 0) return "";
  return ` The servers of ${listText(tables)} choose the variant of every batch by a table.`;
}

function instanceTable(bundle: LokiBundle, level: LokiLevel, keyOf: KeyOf): Markup {
  const hasPools = bundle.cluster.pools.length > 1;
  const rows = planView(bundle, level).instances.map(
    ({ task, variant, pool, replicas, batch, latencyMs, throughputQps }) =>
      tableRow([
        html`<td>${chip(keyOf.get(nameOf(task, variant)))} ${variant}</td>`,
        task,
        ...(hasPools ? [pool] : []),
        decimalText(replicas),
        batch,
        decimalText(latencyMs, 1),
        decimalText(throughputQps, 1),
      ]),
  );
  return html`<h3>Instances</h3><div class="scroll"><table class="words"><thead><tr><th>variant</th>
<th>task</th>${hasPools ? html`<th>pool</th>` : ""}<th>replicas</th><th>batch</th><th>ms</th>
<th>queries/s each</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** Paths by the task that they lead to; the shares of each group sum to 1. */
function pathTable(bundle: LokiBundle, level: LokiLevel, keyOf: KeyOf): Markup {
  const paths = planView(bundle, level)
    .paths.map((path) => ({ ...path, leaf: Object.keys(path.variants).at(-1) ?? "" }))
    .sort((a, b) => b.ratio - a.ratio);
  const hasLeaves = bundle.leaves.length > 1;
  const bodies = bundle.leaves.map((leaf) => {
    const name = bundle.tasks[leaf.task]?.name ?? "";
    const head = hasLeaves ? html`<tr><th colspan="4">to ${name}</th></tr>\n` : "";
    const rows = paths
      .filter((path) => path.leaf === name)
      .map((path) =>
        tableRow([
          html`<td>${stepsOf(path, keyOf)}</td>`,
          ratioText(path.ratio),
          ratioText(path.accuracy),
          decimalText(path.latencyMs, 1),
        ]),
      );
    return html`<tbody>${head}${rows}</tbody>`;
  });
  return html`<h3>Paths</h3><div class="scroll"><table>
<thead>${headRow(["path", "share", "accuracy", "execution, ms"])}</thead>
${bodies}</table></div>`;
}

function stepsOf({ variants }: PathView, keyOf: KeyOf): Markup {
  const steps = Object.entries(variants).map(
    ([task, variant], index) =>
      html`${index === 0 ? "" : " → "}<span
class="step">${chip(keyOf.get(nameOf(task, variant)))} ${variant}</span>`,
  );
  return html`${steps}`;
}

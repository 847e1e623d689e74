/**
 * The pipeline as a tree: tasks with their variants, and how many queries go from one to the next.
 */
import type {
  LokiBundle,
  PipelineTask,
  PipelineVariant,
} from "stratagem-runtime/internal/bundle/schema";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, msText, ratioText, shareText } from "../../../report/number-text.ts";

/** Up to this many leaves are side by side if the page is wide enough. */
const MAX_BESIDE = 3;

/** Tasks come after their parents, so that going backwards every task finds its children drawn. */
export function taskTree(bundle: LokiBundle, keys: readonly PipelineVariantKey[]): Markup {
  const { tasks, leaves, slo } = bundle;
  const drawnBelow = new Map<number | null, Markup[]>();
  for (const [task, { parent }] of [...tasks.entries()].reverse()) {
    const children = drawnBelow.get(task) ?? [];
    const below = children.length === 0 ? "" : html`<ul>${children}</ul>`;
    const drawn = html`<li><div class="task">${taskBox(bundle, keys, task)}</div>${below}</li>\n`;
    drawnBelow.set(parent, [drawn, ...(drawnBelow.get(parent) ?? [])]);
  }
  const layout = leaves.length <= MAX_BESIDE ? "tree beside" : "tree";
  return html`<div class="${layout}"><div class="task requests">Requests, each to be answered
within ${msText(slo.latencyMs)}</div><ul>${drawnBelow.get(null) ?? []}</ul></div>`;
}

function taskBox(bundle: LokiBundle, keys: readonly PipelineVariantKey[], index: number): Markup {
  const { tasks, leaves } = bundle;
  const task = tasks[index];
  if (task === undefined) return html``;
  const children = childrenOf(tasks, index);
  const weight = leaves.find((leaf) => leaf.task === index)?.weight;
  const worth =
    weight === undefined || leaves.length === 1
      ? ""
      : `; ${shareText(weight)} of the pipeline's accuracy`;
  const rows = task.variants.map((variant, at) => {
    const key = keys.find((one) => one.task === index && one.variant === at);
    const fanouts = children.map(
      (_, child) => html`<td>${decimalText(variant.fanouts[child] ?? 0, 2)}</td>`,
    );
    return html`<tr${key === undefined ? html` class="none"` : ""}><td>${chip(key)} ${
      variant.name
    }</td><td>${ratioText(variant.accuracy)}</td><td>${singleMs(variant)}</td>${fanouts}</tr>\n`;
  });
  const heads = children.map((child) => html`<th>→ ${breakable(tasks[child]?.name ?? "")}</th>`);
  return html`<h3>${task.name}</h3><p class="note">${arrivalText(tasks, task, index)}${worth}</p>
<div class="scroll"><table><thead><tr><th>variant</th><th>accuracy</th><th>one query,
ms</th>${heads}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** A long name with line breaks allowed after the characters that join its words. */
function breakable(name: string): Markup[] {
  return name.split(/(?<=[_.-])/).map((part) => html`${part}<wbr>`);
}

/** Children of a task, in their order. */
function childrenOf(tasks: readonly PipelineTask[], index: number | null): number[] {
  return tasks.flatMap(({ parent }, task) => (parent === index ? [task] : []));
}

function arrivalText(tasks: readonly PipelineTask[], task: PipelineTask, index: number): string {
  const parent = task.parent === null ? undefined : tasks[task.parent];
  if (parent === undefined) {
    return task.entryShare === 1
      ? "1 query per request"
      : `${decimalText(task.entryShare, 2)} queries per request`;
  }
  const place = childrenOf(tasks, task.parent).indexOf(index);
  const fanouts = parent.variants.map((variant) => variant.fanouts[place] ?? 0);
  const [least, most] = [Math.min(...fanouts), Math.max(...fanouts)].map((one) =>
    decimalText(one, 2),
  );
  const range = least === most ? `${most}` : `${least} to ${most}`;
  return `${range} ${range === "1" ? "query" : "queries"} per query of ${parent.name}`;
}

/** Time of a batch of one, on every pool that can run it. */
function singleMs({ profiles }: PipelineVariant): string {
  const times = profiles.flatMap((profile) => profile?.serviceTimes.decisionMs.data[0] ?? []);
  if (times.length === 0) return "–";
  const [least, most] = [Math.min(...times), Math.max(...times)].map((ms) =>
    decimalText(ms, ms < 10 ? 2 : 1),
  );
  return least === most ? `${most}` : `${least}–${most}`;
}

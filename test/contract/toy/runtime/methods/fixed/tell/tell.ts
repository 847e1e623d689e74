/** Bundles of fixed in words and as data. */
import type { FixedBundle } from "../../../bundle/schema.ts";
import { levelAt } from "../../../core/level-choice.ts";
import { type Section, sectionOf } from "../../../describe/bundle-sections.ts";
import { type DiffLevel, diffPlans } from "../../../describe/level-diff.ts";
import { alignColumns, percent, short } from "../../../describe/text.ts";
import type { BundleFile, Description } from "../../method.ts";
import type { WantedModel } from "../../wanted-models.ts";

export function fixedSections({ tasks }: FixedBundle): Section[] {
  return (tasks[0]?.variants ?? []).map(({ latencyMs }) =>
    sectionOf("tasks[0].variants[0].latencyMs", latencyMs),
  );
}

export function fixedTasks({ tasks }: FixedBundle) {
  return tasks.map(({ variants, ...task }) => ({
    ...task,
    variants: variants.map((one) => ({ ...one, latencyMs: [...one.latencyMs.data] })),
  }));
}

export function fixedLevels({ levels }: FixedBundle, solveMs: readonly number[]) {
  return levels.map((level, index) => ({ ...level, solve: { ms: solveMs[index] ?? null } }));
}

export function fixedTable({ levels }: FixedBundle): string {
  return alignColumns([
    ["load qps", "batch", "capacity qps", "violations", "p99 ms", "feasible"],
    ...levels.map(({ loadQps, batch, capacityQps, expected, feasible }) => [
      short(loadQps),
      String(batch),
      short(capacityQps),
      percent(expected.violationRate),
      short(expected.latencyMsP99),
      feasible ? "yes" : "no",
    ]),
  ]);
}

export function fixedSummary(bundle: FixedBundle, file: BundleFile): string {
  const { application, tasks } = bundle;
  return [
    `${application}: fixed, format version ${file.formatVersion}, ${file.bytes} bytes`,
    `sha256 ${file.sha256}`,
    `always ${tasks[0]?.variants[0]?.name ?? ""}`,
    "",
    fixedTable(bundle),
  ].join("\n");
}

export function describeFixed({ levels }: FixedBundle, index: number): Description {
  const { loadQps, batch } = levelAt(levels, index);
  return {
    text: `level ${loadQps} qps: batches of up to ${batch}`,
    json: { index, loadQps, batch },
  };
}

export function fixedDiffer(before: FixedBundle, after: FixedBundle): DiffLevel {
  return (loadQps, index) =>
    diffPlans(loadQps, before.levels[index.before], after.levels[index.after]);
}

export function fixedModels({ tasks, levels }: FixedBundle): WantedModel[] {
  const warmBatches = [...new Set([1, ...levels.map(({ batch }) => batch)])].sort((a, b) => a - b);
  return (tasks[0]?.variants ?? []).map(({ name, model }) => {
    return { name, model, warmBatches, outputsAreRows: true };
  });
}

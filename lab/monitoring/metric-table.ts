/** The list of metrics in docs/metrics.md, from which the dashboard and the alerts are made. */
import { readFileSync } from "node:fs";

export interface ListedMetric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
}

const HEADING = "## All metrics of a server";
const ENTRY = /^- `(\w+)` \((counter|gauge|histogram)(?: by ([^)]*))?\): (.*)$/;
/** Labels that need no mention: of all metrics of applications, and those that scraping adds. */
const COMMON = ["model", "version", "job", "instance"];

/** @throws Error if the page has no such list. */
export function listedMetrics(page = "docs/metrics.md"): ReadonlyMap<string, ListedMetric> {
  const text = readFileSync(page, "utf8");
  const list = text.slice(text.indexOf(HEADING)).replaceAll("\n  ", " ").split("\n");
  const entries = list.flatMap((line) => {
    const [, name = "", type, by = "", help = ""] = ENTRY.exec(line) ?? [];
    if (type !== "counter" && type !== "gauge" && type !== "histogram") return [];
    const own = [...by.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label);
    const le = type === "histogram" ? ["le"] : [];
    return [[name, { name, type, labels: [...COMMON, ...own, ...le], help }] as const];
  });
  if (entries.length === 0) throw new Error(`${page}: expected a list under "${HEADING}"`);
  return new Map(entries);
}

/** Names of metrics in an expression of PromQL, as they are listed. */
export function metricsIn(
  expression: string,
  listed: ReadonlyMap<string, ListedMetric>,
): readonly { readonly name: string; readonly isKnown: boolean }[] {
  const names = expression.match(/\b(?:stratagem|nv|process)_\w+/g) ?? [];
  return names.map((name) => {
    const family = name.replace(/_(bucket|sum|count)$/, "");
    const isPart = listed.get(family)?.type === "histogram" && family !== name;
    const type = listed.get(name)?.type;
    return { name, isKnown: isPart || (type !== undefined && type !== "histogram") };
  });
}

/** Labels that an expression selects or groups by and that none of its metrics has. */
export function unknownLabelsIn(
  expression: string,
  listed: ReadonlyMap<string, ListedMetric>,
): string[] {
  const known = new Set(
    metricsIn(expression, listed).flatMap(({ name }) => {
      const metric = listed.get(name) ?? listed.get(name.replace(/_(bucket|sum|count)$/, ""));
      return metric?.labels ?? [];
    }),
  );
  const grouped = [...expression.matchAll(/\b(?:by|on|without|group_left) ?\(([^)]*)\)/g)];
  const selected = [...expression.matchAll(/\{([^}]*)\}/g)];
  const labels = [
    ...grouped.flatMap(([, text = ""]) => text.split(",")),
    ...selected.flatMap(([, text = ""]) => text.match(/\w+(?= *(?:=~|!~|!=|=))/g) ?? []),
  ];
  return labels.map((label) => label.trim()).filter((label) => label !== "" && !known.has(label));
}

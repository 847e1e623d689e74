/** Summarizes the differences of two bundles: their number, and the largest changes. */
import type { FieldDiff, LevelDiff } from "stratagem-runtime/internal/describe/level-diff";
import { counted, percent, short } from "stratagem-runtime/internal/describe/text";

interface SummarizedDiff {
  readonly same: boolean;
  readonly fields: readonly FieldDiff[];
  readonly levels: readonly LevelDiff[];
  /** Number of distinct loads in both bundles; null if unknown. */
  readonly levelCount: number | null;
}

/** Topics of fields outside the levels, by the prefix of their paths. */
const TOPICS: readonly (readonly [RegExp, string])[] = [
  [/^provenance\b/, "compiler and input files"],
  [/^policy\b/, "settings"],
  [/^tasks\b.*(profile|serviceTimes|latency|pipelines)/i, "profiles"],
  [/^(decisionSpace|classSpaces|shapes)\b/, "states and actions"],
  [/./, "application"],
];
/** Predicted figures of a level, which do not affect decisions. */
const FIGURES = /(^|\.)expected\.|^feasible$|^capacityQps$/;
/** Fields about the search for a plan, which do not affect decisions. */
const SOLVING = /^(solve|sample)\b/;
/** Figures reported by their largest change, the most important first. */
const REPORTED_FIGURES = [
  "accuracyPerQuery",
  "accuracy",
  "violationRate",
  "costPerHour",
  "servers",
  "cores",
  "latencyMsP99",
  "capacityQps",
] as const;
const RATIO = /accuracy|Rate$/;
const MAX_NAMED_LOADS = 6;

/** Returns whether a level's decisions changed, and not only its predictions. */
export function hasOtherPlan({ fields }: LevelDiff): boolean {
  return fields.some(({ path }) => !FIGURES.test(path) && !SOLVING.test(path));
}

/** Returns a headline and a line for each kind of change. */
export function diffSummary({ same, fields, levels, levelCount }: SummarizedDiff): string[] {
  if (same) return ["the bundles are the same"];
  const of = levelCount === null ? "" : ` of ${levelCount}`;
  const changed = levels.filter(({ change }) => change === "changed");
  const decided = changed.filter(({ changedStates }) => changedStates > 0);
  const planned = changed.filter((level) => level.states === 0 && hasOtherPlan(level));
  return [
    `the bundles differ: ${counted(levels.length, "level")}${of}, ` +
      `${counted(fields.length, "field")} outside the levels`,
    ...topicLines(fields),
    ...loadLine("levels added", levels, "added"),
    ...loadLine("levels removed", levels, "removed"),
    ...(planned.length === 0 ? [] : [`  plans: changed at ${loadsText(planned)}`]),
    ...(decided.length === 0 ? [] : [decisionLine(decided)]),
    ...REPORTED_FIGURES.flatMap((name) => figureLine(name, changed)),
  ];
}

function topicLines(fields: readonly FieldDiff[]): string[] {
  const counts = new Map<string, number>();
  for (const { path } of fields) {
    const topic = TOPICS.find(([pattern]) => pattern.test(path))?.[1] ?? "";
    counts.set(topic, (counts.get(topic) ?? 0) + 1);
  }
  return TOPICS.flatMap(([, topic]) => {
    const count = counts.get(topic);
    return count === undefined ? [] : [`  ${topic}: ${counted(count, "field")}`];
  });
}

function loadLine(
  title: string,
  levels: readonly LevelDiff[],
  change: LevelDiff["change"],
): string[] {
  const some = levels.filter((level) => level.change === change);
  return some.length === 0 ? [] : [`  ${title}: ${loadsText(some)}`];
}

function loadsText(levels: readonly Pick<LevelDiff, "loadQps">[]): string {
  const loads = levels.map(({ loadQps }) => short(loadQps));
  if (loads.length <= MAX_NAMED_LOADS) return `${loads.join(", ")} qps`;
  return `${counted(loads.length, "level")}, ${loads[0]} to ${loads.at(-1)} qps`;
}

function decisionLine(levels: readonly LevelDiff[]): string {
  const shareOf = ({ changedStates, states }: LevelDiff): number => changedStates / states;
  const most = levels.reduce((a, b) => (shareOf(b) > shareOf(a) ? b : a));
  return (
    `  decisions: changed at ${loadsText(levels)}, most at ${short(most.loadQps)} qps: ` +
    `${most.changedStates} of ${most.states} states`
  );
}

/** Returns the largest change of a figure over all levels; empty if unchanged. */
function figureLine(name: string, levels: readonly LevelDiff[]): string[] {
  const changes = levels.flatMap(({ loadQps, fields }) =>
    fields.flatMap(({ path, before, after }) => {
      const isIt = path.split(".").at(-1) === name && !SOLVING.test(path) && !path.includes("[");
      if (!isIt || typeof before !== "number" || typeof after !== "number") return [];
      return [{ loadQps, path, before, after }];
    }),
  );
  const [first, ...others] = changes;
  if (first === undefined) return [];
  const sizeOf = ({ before, after }: typeof first): number => Math.abs(after - before);
  const most = others.reduce((a, b) => (sizeOf(b) > sizeOf(a) ? b : a), first);
  const text = RATIO.test(name) ? percent : short;
  const count = new Set(changes.map(({ loadQps }) => loadQps)).size;
  const which = count === 1 ? "" : `, the largest change of ${count} levels`;
  return [
    `  ${most.path}: ${text(most.before)} → ${text(most.after)} ` +
      `at ${short(most.loadQps)} qps${which}`,
  ];
}

/** The first lines of `diff`: how much is not the same, and what changed most. */
import type { FieldDiff, LevelDiff } from "stratagem-runtime/internal/describe/level-diff";
import { counted, percent, short } from "stratagem-runtime/internal/describe/text";

interface ToldDiff {
  readonly same: boolean;
  readonly fields: readonly FieldDiff[];
  readonly levels: readonly LevelDiff[];
  /** Levels of both bundles together, those of a load once; null where it is not known. */
  readonly levelCount: number | null;
}

/** What fields outside the levels are about, by how their paths begin. */
const TOPICS: readonly (readonly [RegExp, string])[] = [
  [/^provenance\b/, "compiler and input files"],
  [/^policy\b/, "settings"],
  [/^tasks\b.*(profile|serviceTimes|latency|pipelines)/i, "profiles"],
  [/^(decisionSpace|classSpaces|shapes)\b/, "states and actions"],
  [/./, "application"],
];
/** What is foretold of a level, not what is done. */
const FIGURES = /(^|\.)expected\.|^feasible$|^capacityQps$/;
/** How a plan was found, which nothing follows. */
const SOLVING = /^(solve|sample)\b/;
/** Figures that are told by their largest change, the weightiest first. */
const TOLD_FIGURES = [
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
const MAX_TOLD_LOADS = 6;

/** Whether a level's fields say that something else is done, and not only expected. */
export function hasOtherPlan({ fields }: LevelDiff): boolean {
  return fields.some(({ path }) => !FIGURES.test(path) && !SOLVING.test(path));
}

/** A headline, and a line for each kind of change. */
export function diffSummary({ same, fields, levels, levelCount }: ToldDiff): string[] {
  if (same) return ["the bundles are the same"];
  const of = levelCount === null ? "" : ` of ${levelCount}`;
  const changed = levels.filter(({ change }) => change === "changed");
  const decided = changed.filter(({ changedStates }) => changedStates > 0);
  const planned = changed.filter((level) => level.states === 0 && hasOtherPlan(level));
  return [
    `the bundles differ: ${counted(levels.length, "level")}${of}, ` +
      `${counted(fields.length, "field")} beside the levels`,
    ...topicLines(fields),
    ...loadLine("levels added", levels, "added"),
    ...loadLine("levels removed", levels, "removed"),
    ...(planned.length === 0 ? [] : [`  plans: another at ${loadsText(planned)}`]),
    ...(decided.length === 0 ? [] : [decisionLine(decided)]),
    ...TOLD_FIGURES.flatMap((name) => figureLine(name, changed)),
  ];
}

/** Fields by what they are about. */
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
  if (loads.length <= MAX_TOLD_LOADS) return `${loads.join(", ")} qps`;
  return `${counted(loads.length, "level")}, ${loads[0]} to ${loads.at(-1)} qps`;
}

function decisionLine(levels: readonly LevelDiff[]): string {
  const shareOf = ({ changedStates, states }: LevelDiff): number => changedStates / states;
  const most = levels.reduce((a, b) => (shareOf(b) > shareOf(a) ? b : a));
  return (
    `  decisions: others at ${loadsText(levels)}, most at ${short(most.loadQps)} qps: ` +
    `${most.changedStates} of ${most.states} states`
  );
}

/** The largest change of a figure over all levels, where it changes. */
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

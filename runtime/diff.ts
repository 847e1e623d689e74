/** What differs between two bundles, in the words of their application: variants and batches, not action indices. */
import { createHash } from "node:crypto";
import type {
  AccordionBundle,
  Bundle,
  InferlineBundle,
  LokiBundle,
  RamsisBundle,
  RamsisLevel,
  ScalePlan,
  ThemisBundle,
} from "./bundle/schema.ts";
import { GIVE_UP, PolicyTable, WAIT } from "./core/policy-table.ts";
import { depthViews } from "./methods/accordion/tell/layer-plan-view.ts";
import { stagePlanView } from "./methods/inferline/tell/stage-plan-view.ts";
import { planView } from "./methods/loki/tell/plan-view.ts";
import { classBundle } from "./methods/ramsis/bundle/class-views.ts";
import { burstsFrom } from "./methods/themis/tell/burst-view.ts";
import { scaleReportView } from "./methods/themis/tell/scale-plan-view.ts";

const MAX_EXAMPLES = 3;

/** A scalar or a whole table that is not the same; undefined where one bundle lacks it. */
export interface FieldDiff {
  /** Items of lists are named where they have a name: `tasks[classify].variants[small].accuracy`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface Decision {
  readonly variant: string;
  readonly batch: number;
}

export interface StateDiff {
  /** Of the class whose table it is; left out for that of all queries. */
  readonly sloClass?: string;
  readonly queued: number;
  readonly slackMs: number;
  readonly before: Decision;
  readonly after: Decision;
}

export interface LevelDiff {
  readonly loadQps: number;
  readonly change: "added" | "removed" | "changed";
  readonly fields: readonly FieldDiff[];
  /** States of the first bundle in which the second decides otherwise. */
  readonly changedStates: number;
  /** States compared, those of the first bundle. */
  readonly states: number;
  readonly examples: readonly StateDiff[];
}

export interface BundleDiff {
  readonly same: boolean;
  readonly fields: readonly FieldDiff[];
  /** Ascending in load; levels that are the same are left out. */
  readonly levels: readonly LevelDiff[];
}

/** Levels are matched by their load. */
export function diffBundles(before: Bundle, after: Bundle): BundleDiff {
  const { levels: levelsBefore } = before;
  const { levels: levelsAfter } = after;
  const fields = diffFields(frameOf(before), frameOf(after));
  const diffAt = levelDiffer(before, after);
  const loads = [...new Set([...levelsBefore, ...levelsAfter].map(({ loadQps }) => loadQps))];
  const levels = loads
    .sort((a, b) => a - b)
    .map((loadQps) => {
      const index = {
        before: levelsBefore.findIndex((level) => level.loadQps === loadQps),
        after: levelsAfter.findIndex((level) => level.loadQps === loadQps),
      };
      if (index.before < 0 || index.after < 0) {
        return levelDiff(loadQps, index.before < 0 ? "added" : "removed", []);
      }
      return diffAt(loadQps, index);
    })
    .filter((level) => level !== null);
  return { same: fields.length === 0 && levels.length === 0, fields, levels };
}

/** What is not told level by level. */
function frameOf({ levels: _, ...frame }: Bundle): object {
  if (frame.method === "accordion") return placesByName(frame);
  if (frame.method !== "themis") return frame;
  const { transitions: _rows, ...rest } = frame;
  return rest;
}

type DiffLevel = (loadQps: number, index: Pair<number>) => LevelDiff | null;

/** Levels of different methods have nothing to compare but that they are others. */
function levelDiffer(before: Bundle, after: Bundle): DiffLevel {
  if (before.method === "ramsis" && after.method === "ramsis") {
    const policies = { before: policyOf(before), after: policyOf(after) };
    return (loadQps, index) => diffTables(loadQps, policies, index);
  }
  if (before.method === "loki" && after.method === "loki") {
    return (loadQps, index) =>
      diffPlans(loadQps, namedLevel(before, index.before), namedLevel(after, index.after));
  }
  if (before.method === "inferline" && after.method === "inferline") {
    return (loadQps, index) =>
      diffPlans(loadQps, stageLevel(before, index.before), stageLevel(after, index.after));
  }
  if (before.method === "themis" && after.method === "themis") {
    return (loadQps, index) => {
      const was = scaleLevel(before, index.before, after);
      return diffPlans(loadQps, was, scaleLevel(after, index.after, before));
    };
  }
  if (before.method === "accordion" && after.method === "accordion") {
    return (loadQps, index) =>
      diffPlans(loadQps, before.levels[index.before], after.levels[index.after]);
  }
  return (loadQps) => levelDiff(loadQps, "changed", []);
}

/** @param before a level with names where the bundle has indices, as `after`. */
function diffPlans(
  loadQps: number,
  before: object | undefined,
  after: object | undefined,
): LevelDiff | null {
  const fields = diffFields(before, after);
  return fields.length === 0 ? null : levelDiff(loadQps, "changed", fields);
}

/** A level whose instances and paths have the names of what they are. */
function namedLevel(bundle: LokiBundle, index: number): object | undefined {
  const level = bundle.levels[index];
  if (level === undefined) return undefined;
  const { instances, paths, ...plan } = planView(bundle, level);
  return {
    ...level,
    plan: {
      ...plan,
      instances: instances.map(({ task, variant, pool, ...rest }) => ({
        name: `${task}/${variant} on ${pool}`,
        ...rest,
      })),
      paths: paths.map(({ variants, ...rest }) => ({
        name: Object.values(variants).join("|"),
        ...rest,
      })),
    },
  };
}

/** A level whose stages have the names of their tasks and of what they run on. */
function stageLevel(bundle: InferlineBundle, index: number): object | undefined {
  const level = bundle.levels[index];
  if (level === undefined) return undefined;
  const { costPerHour, stages } = stagePlanView(bundle, level);
  return {
    ...level,
    plan: { costPerHour, stages: stages.map(({ task, ...rest }) => ({ name: task, ...rest })) },
  };
}

/** A level whose stages have the names of their tasks, and its transitions to the loads that the other bundle has too. */
function scaleLevel(bundle: ThemisBundle, index: number, other: ThemisBundle): object | undefined {
  const level = bundle.levels[index];
  if (level === undefined) return undefined;
  const bursts = burstsFrom(bundle, index).filter(({ loadQps }) =>
    other.levels.some((one) => one.loadQps === loadQps),
  );
  const named = (plan: ScalePlan | null) =>
    plan && {
      ...plan,
      stages: plan.stages.map((stage, task) => ({ name: bundle.tasks[task]?.name, ...stage })),
    };
  return {
    ...level,
    horizontal: named(level.horizontal),
    vertical: named(level.vertical),
    joint: named(level.joint),
    steady: named(level.steady),
    solve: scaleReportView(bundle, level.solve),
    bursts: bursts.map(({ loadQps, stages, cores }) => ({
      name: `${loadQps} qps`,
      cores,
      stages: stages.map(({ task, ...stage }) => ({ name: task, ...stage })),
    })),
  };
}

/** Pipelines by the places they have, such as `pipelines[2 default].cut: 3 + 3 → 4 + 2`, and with the latencies that the table has of them. */
function placesByName(frame: Omit<AccordionBundle, "levels">): object {
  const { tasks, shapes: _shapes, ...rest } = frame;
  return {
    ...rest,
    tasks: tasks.map(({ variants, ...task }) => ({
      ...task,
      variants: variants.map(({ latencyMs, pipelines, stages, ...variant }) => ({
        ...variant,
        stages: stages.map(({ from, to, model }) => ({ name: `${from}-${to}`, model })),
        pipelines: depthViews(frame, { latencyMs, pipelines }).map(
          ({ executionPlaces: _places, cut, stageMs, pools, ...figures }) => ({
            name: countedNames(pools),
            cut: cut.join(" + "),
            stageMs: stageMs.join(" + "),
            pools: pools.join(" + "),
            ...figures,
          }),
        ),
      })),
    })),
  };
}

function countedNames(names: readonly string[]): string {
  const own = [...new Set(names)].sort();
  return own.map((name) => `${names.filter((one) => one === name).length} ${name}`).join(", ");
}

function levelDiff(
  loadQps: number,
  change: LevelDiff["change"],
  fields: readonly FieldDiff[],
): LevelDiff {
  return { loadQps, change, fields, changedStates: 0, states: 0, examples: [] };
}

interface Policy {
  readonly bundle: RamsisBundle;
  readonly table: PolicyTable;
  readonly variantNames: readonly string[];
}

function policyOf(bundle: RamsisBundle): Policy {
  const variantNames = bundle.tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  return { bundle, table: PolicyTable.fromBundle(bundle), variantNames };
}

interface Pair<Side> {
  readonly before: Side;
  readonly after: Side;
}

/** @param index of the level in each bundle. */
function diffTables(
  loadQps: number,
  { before, after }: Pair<Policy>,
  index: Pair<number>,
): LevelDiff | null {
  const levelBefore = before.bundle.levels[index.before];
  const levelAfter = after.bundle.levels[index.after];
  if (levelBefore === undefined || levelAfter === undefined) return null;
  const fields = diffFields(
    scalarsOf(before.bundle, levelBefore),
    scalarsOf(after.bundle, levelAfter),
  );
  const tables = [
    diffStates(before, after, index),
    ...sharedClasses(before.bundle, after.bundle, index).map(({ name, was, is }) => {
      const states = diffStates(policyOf(was), policyOf(is), { before: 0, after: 0 });
      const examples = states.examples.map((example) => ({ ...example, sloClass: name }));
      return { ...states, examples };
    }),
  ];
  const changedStates = tables.reduce((sum, table) => sum + table.changedStates, 0);
  if (fields.length === 0 && changedStates === 0) return null;
  const states = tables.reduce((sum, table) => sum + table.states, 0);
  const examples = tables.flatMap((table) => table.examples).slice(0, MAX_EXAMPLES);
  return { loadQps, change: "changed", fields, changedStates, states, examples };
}

/** One table of a level in both bundles. */
function diffStates(
  before: Policy,
  after: Policy,
  index: Pair<number>,
): Pick<LevelDiff, "changedStates" | "states" | "examples"> {
  const examples: StateDiff[] = [];
  let changedStates = 0;
  const slacks = before.bundle.decisionSpace.slackMs.data;
  const lengths = before.table.rowQueries;
  for (const queued of lengths) {
    for (const slackMs of slacks) {
      const was = decisionOf(before, index.before, queued, slackMs);
      const is = decisionOf(after, index.after, queued, slackMs);
      if (was.variant === is.variant && was.batch === is.batch) continue;
      changedStates++;
      if (examples.length < MAX_EXAMPLES) {
        examples.push({ queued, slackMs, before: was, after: is });
      }
    }
  }
  return { changedStates, states: lengths.length * slacks.length, examples };
}

/** Classes that have a table of their own at the level in both bundles, each as a bundle of one level. */
function sharedClasses(
  before: RamsisBundle,
  after: RamsisBundle,
  index: Pair<number>,
): { readonly name: string; readonly was: RamsisBundle; readonly is: RamsisBundle }[] {
  const [levelBefore, levelAfter] = [before.levels[index.before], after.levels[index.after]];
  if (levelBefore?.classTables === undefined || levelAfter?.classTables === undefined) return [];
  const names = (after.slo.classes ?? []).map(({ name }) => name);
  return (before.slo.classes ?? []).flatMap(({ name }, at) => {
    const other = names.indexOf(name);
    if (other < 0) return [];
    const was = classBundle(before, levelBefore, at);
    return [{ name, was, is: classBundle(after, levelAfter, other) }];
  });
}

/** A level without its tables, which are compared state by state; of classes the workers. */
function scalarsOf(bundle: RamsisBundle, { actionByState: _, ...level }: RamsisLevel): object {
  const { classTables, ...scalars } = level;
  if (classTables === undefined) return scalars;
  const classes = classTables.map(({ workers }, index) => {
    return { name: bundle.slo.classes?.[index]?.name, workers };
  });
  return { ...scalars, classTables: classes };
}

function decisionOf(
  { table, variantNames }: Policy,
  level: number,
  queued: number,
  slackMs: number,
): Decision {
  const action = table.lookup(level, queued, slackMs);
  if (action === WAIT) return { variant: "wait", batch: 0 };
  if (action === GIVE_UP) return { variant: "give up", batch: 0 };
  return { variant: variantNames[table.variant(action)] ?? "", batch: table.batch(action) };
}

function diffFields(before: unknown, after: unknown): FieldDiff[] {
  const leavesBefore = new Map(leavesOf(before, ""));
  const leavesAfter = new Map(leavesOf(after, ""));
  return [...new Set([...leavesBefore.keys(), ...leavesAfter.keys()])]
    .map((path) => ({ path, before: leavesBefore.get(path), after: leavesAfter.get(path) }))
    .filter((field) => field.before !== field.after);
}

/** A longer array is told by its digest. */
const MAX_TOLD_VALUES = 8;

/** Every scalar with its path; a typed array counts as the text of its values, or as their digest. Depth is bounded by the schema. */
function leavesOf(value: unknown, path: string): (readonly [string, unknown])[] {
  if (value instanceof Float64Array || value instanceof Uint16Array) {
    const digest = createHash("sha256").update(value).digest("hex").slice(0, 12);
    const isShort = value.length <= MAX_TOLD_VALUES;
    return [[path, isShort ? String(value) : `${value.length} values, SHA-256 ${digest}…`]];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown, index) =>
      leavesOf(item, `${path}[${nameOf(item) ?? index}]`),
    );
  }
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, field]) =>
    leavesOf(field, path === "" ? key : `${path}.${key}`),
  );
}

/** What tells an item of a list from its siblings. */
function nameOf(item: unknown): string | null {
  if (typeof item !== "object" || item === null) return null;
  const { name, path } = item as { name?: unknown; path?: unknown };
  if (typeof name === "string") return name;
  return typeof path === "string" ? path : null;
}

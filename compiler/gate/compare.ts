/** Compares the promises of two bundles level by level, as the basis of the gate. */
import { violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { NamedFigures } from "../methods/level-promises.ts";
import {
  FIGURES,
  type Figure,
  LEVEL_FIGURES,
  type LevelFigure,
} from "../spec/schema/promise-figures.ts";
import { levelsInScope } from "./levels-in-scope.ts";
import { type Part, type PromisedBundle, type PromisedLevel, sloMsOf } from "./promised-bundle.ts";
import { changeInterval, type Sampled } from "./sampling-error.ts";
import type { Tolerance } from "./tolerance.ts";

/**
 * Same, which includes changes within sampling error, and better pass; worse passes within a
 * tolerance. `new` is not promised by the old bundle;
 * `unjudged` changed without being a promise that was kept.
 */
export type Verdict = "same" | "better" | "allowed" | "new" | "unjudged" | "regression";

export interface Comparison {
  /** Load of both promises; null for the whole bundle. */
  readonly loadQps: number | null;
  readonly figure: Figure | "feasible" | "application";
  /** Class, bucket or pace; null for all queries. */
  readonly part: Part | null;
  /** In the figure's unit; null without a promise. */
  readonly before: number | boolean | string | null;
  readonly after: number | boolean | string | null;
  /** Text of the applicable tolerances. */
  readonly tolerances: readonly string[];
  readonly verdict: Verdict;
  /** 99 % interval of after minus before, if both or one of them was simulated. */
  readonly interval?: readonly [number, number];
}

/** Figures whose change for the worse is a regression unless it is allowed. */
const JUDGED: readonly Figure[] = [
  "violations",
  "accuracy",
  "accuracyPerQuery",
  "p99",
  "cost",
  "headroom",
  "slo",
  "ceiling",
];
/** Resources, judged if prices are missing. */
const MEANS: readonly Figure[] = ["workers", "cores"];
const LEVEL_NAMES = Object.keys(LEVEL_FIGURES) as readonly LevelFigure[];
/** Difference that counts as rounding. */
const NO_CHANGE = 1e-12;

interface Pair {
  readonly before: PromisedBundle;
  readonly after: PromisedBundle;
  readonly tolerances: readonly Tolerance[];
}

/** Returns rows of the whole bundle first, then by ascending load. */
export function compare(
  before: PromisedBundle,
  after: PromisedBundle,
  tolerances: readonly Tolerance[],
): Comparison[] {
  const pair = { before, after, tolerances };
  const loads = [...new Set([...before.levels, ...after.levels].map(({ loadQps }) => loadQps))];
  loads.sort((a, b) => a - b);
  const matched = loads.map((loadQps) => matchedAt(pair, loadQps));
  return [...wholeBundle(pair), ...matched.flatMap((one) => levelRows(pair, matched, one))];
}

/** Levels that decide for a load in both bundles. */
interface Matched {
  readonly loadQps: number;
  /** True if the load is feasible in the old bundle. */
  readonly feasible: boolean;
  readonly before: PromisedLevel | null;
  readonly after: PromisedLevel | null;
}

function matchedAt({ before, after }: Pair, loadQps: number): Matched {
  const old = decidingFor(before, loadQps);
  return {
    loadQps,
    feasible: old?.feasible ?? false,
    before: old,
    after: decidingFor(after, loadQps),
  };
}

function decidingFor({ levels }: PromisedBundle, qps: number): PromisedLevel | null {
  return levels.find(({ loadQps }) => loadQps >= qps) ?? null;
}

function wholeBundle(pair: Pair): Comparison[] {
  const { before, after } = pair;
  const names = { before: before.application, after: after.application };
  const isSame = names.before === names.after;
  const none = { loadQps: null, part: null, tolerances: [] };
  const applies = (figure: Figure, part: Part | null): readonly Tolerance[] =>
    pair.tolerances.filter((one) => one.figure === figure && isAbout(one, part));
  const row = (figure: Figure, a: number, b: number, part: Part | null = null): Comparison => {
    const found = { figure, part, loadQps: null, before: a, after: b };
    return judged(found, applies(figure, part), JUDGED.includes(figure));
  };
  const classes = before.slo.classes ?? [];
  return [
    { ...none, figure: "application", ...names, verdict: isSame ? "same" : "regression" },
    row("bytes", before.byteCount, after.byteCount),
    row("slo", before.slo.latencyMs, after.slo.latencyMs),
    ...classes.map(({ name, latencyMs }) => {
      const part = { kind: "class" as const, name };
      return row("slo", latencyMs, sloMsOf(after, part), part);
    }),
    row("ceiling", violationCeiling(before.slo), violationCeiling(after.slo)),
  ];
}

function levelRows(pair: Pair, all: readonly Matched[], matched: Matched): Comparison[] {
  const { before, after, loadQps } = matched;
  const here = pair.tolerances.filter(({ scope }) => {
    return levelsInScope(scope, all).levels.includes(matched);
  });
  const feasible = feasibleRow(matched, here);
  if (before === null || after === null) return [feasible];
  const ceiling = violationCeiling(pair.before.slo);
  const rows = (part: Part | null, a: Sampled, b: Sampled) => {
    const { violations = 1 } = a.figures;
    const isKept = before.feasible && (part?.kind !== "pace" || violations <= ceiling);
    return figureRows({ loadQps, part, isKept }, a, b, here);
  };
  const parts = (
    kind: Part["kind"],
    olds: readonly NamedFigures[],
    news: readonly NamedFigures[],
  ) =>
    olds.flatMap((old) => {
      const { name } = old;
      const own = news.find((one) => one.name === name) ?? { figures: {} };
      return rows({ kind, name }, old, own);
    });
  return [
    feasible,
    ...rows(null, before, after),
    ...parts("class", before.classes, after.classes),
    ...parts("bucket", before.buckets, after.buckets),
    ...parts("pace", before.paces ?? [], after.paces ?? []),
  ];
}

/** A bundle promises nothing for a load above all its levels. */
function feasibleRow(
  { loadQps, before, after }: Matched,
  tolerances: readonly Tolerance[],
): Comparison {
  const own = tolerances.filter(({ figure }) => figure === "feasible");
  const row = {
    loadQps,
    figure: "feasible" as const,
    part: null,
    before: before?.feasible ?? null,
    after: after?.feasible ?? null,
    tolerances: own.map(({ text }) => text),
  };
  if (before === null) return { ...row, verdict: "new" };
  const [was, is] = [before.feasible, after?.feasible ?? false];
  if (was === is) return { ...row, verdict: after === null ? "unjudged" : "same" };
  if (is) return { ...row, verdict: "better" };
  return { ...row, verdict: own.length > 0 ? "allowed" : "regression" };
}

interface RowPlace {
  readonly loadQps: number;
  readonly part: Part | null;
  /** True if the old bundle keeps its promises here. */
  readonly isKept: boolean;
}

function figureRows(
  { loadQps, part, isKept }: RowPlace,
  before: Sampled,
  after: Sampled,
  tolerances: readonly Tolerance[],
): Comparison[] {
  const isPriced = before.figures.cost !== undefined && after.figures.cost !== undefined;
  return LEVEL_NAMES.flatMap((figure) => {
    const [a = null, b = null] = [before.figures[figure], after.figures[figure]];
    if (a === null && b === null) return [];
    const own = tolerances.filter((one) => isOfFigure(one, figure) && isAbout(one, part));
    const isJudged = JUDGED.includes(figure) || (MEANS.includes(figure) && !isPriced);
    const interval = changeInterval(figure, before, after);
    const row = { loadQps, figure, part, before: a, after: b, ...(interval && { interval }) };
    return [judged(row, isKept ? own : [], isKept && isJudged)];
  });
}

/** A tolerance for accuracy also applies to the accuracy per query, which late queries lower. */
function isOfFigure({ figure: allowed }: Tolerance, figure: LevelFigure): boolean {
  return allowed === figure || (allowed === "accuracy" && figure === "accuracyPerQuery");
}

/** A tolerance for all queries also applies to each class. */
function isAbout({ whose }: Tolerance, part: Part | null): boolean {
  if (whose.kind === "all") return true;
  return part?.kind === whose.kind && (whose.name === null || whose.name === part.name);
}

/** Row of two amounts; null without a promise. */
interface AmountRow extends Omit<Comparison, "tolerances" | "verdict" | "figure"> {
  readonly figure: Figure;
  readonly before: number | null;
  readonly after: number | null;
}

/** @param isJudged whether a change for the worse is a regression by default. */
function judged(row: AmountRow, own: readonly Tolerance[], isJudged: boolean): Comparison {
  const { before, after, figure } = row;
  const judgedRow = { ...row, tolerances: own.map(({ text }) => text) };
  if (before === null) return { ...judgedRow, verdict: "new" };
  const isAsked = isJudged || own.length > 0;
  if (after === null) {
    if (own.some(({ room }) => room.kind === "any")) return { ...judgedRow, verdict: "allowed" };
    return { ...judgedRow, verdict: isAsked ? "regression" : "unjudged" };
  }
  const worse = FIGURES[figure].better === "less" ? after - before : before - after;
  const least = NO_CHANGE * Math.max(Math.abs(before), Math.abs(after));
  const [lower, upper] = row.interval ?? [1, -1];
  const isChance = lower <= 0 && upper >= 0;
  if (isChance || Math.abs(worse) <= least) return { ...judgedRow, verdict: "same" };
  if (worse < 0) return { ...judgedRow, verdict: isAsked ? "better" : "unjudged" };
  if (own.some(({ room }) => isWithin(worse - least, before, room))) {
    return { ...judgedRow, verdict: "allowed" };
  }
  return { ...judgedRow, verdict: isAsked ? "regression" : "unjudged" };
}

function isWithin(worse: number, before: number, room: Tolerance["room"]): boolean {
  switch (room.kind) {
    case "any":
      return true;
    case "amount":
      return worse <= room.amount;
    case "share":
      return worse <= room.share * Math.abs(before);
  }
}

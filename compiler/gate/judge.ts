/** Holds what a bundle promises against what is required of it. */
import { violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { missedTexts } from "stratagem-runtime/internal/describe/missed-limits";
import { short } from "stratagem-runtime/internal/describe/text";
import type { Figures } from "../methods/level-promises.ts";
import type { Whose } from "../spec/document/clause.ts";
import { FIGURES, type LevelFigure } from "../spec/schema/promise-figures.ts";
import type { Bound, Demand, Relation, Requirement } from "../spec/schema/requirement.ts";
import { amountText } from "./amount-text.ts";
import { levelsInScope } from "./levels-in-scope.ts";
import {
  type Part,
  type PromisedBundle,
  type PromisedLevel,
  partText,
  sloMsOf,
} from "./promised-bundle.ts";

/** Where a requirement is not kept. */
export interface Break {
  /** Of the level; null for the whole bundle. */
  readonly loadQps: number | null;
  /** The class or bucket that it is about; null for all queries. */
  readonly part: Part | null;
  /** In the figure's unit; null where nothing is promised, or for `feasible`. */
  readonly found: number | null;
  readonly bound: number | null;
  /** What was found, in words. */
  readonly reason: string;
}

export interface Judged {
  /** The requirement as it was written. */
  readonly text: string;
  /** What it is about, such as `accuracy`. */
  readonly figure: string;
  readonly holds: boolean;
  /** Levels that were looked at; 0 for the whole bundle. */
  readonly levelCount: number;
  /** The worst first. */
  readonly broken: readonly Break[];
}

/** In the order of the requirements. */
export function judge(requirements: readonly Requirement[], bundle: PromisedBundle): Judged[] {
  return requirements.map((requirement) => {
    const { text, demand } = requirement;
    const figure = demand.kind === "level" ? demand.figure : demand.kind;
    if (demand.kind === "bytes") {
      const broken = brokenBytes(demand, bundle);
      return { text, figure, holds: broken.length === 0, levelCount: 0, broken };
    }
    const { levels, broken } = atLevels(requirement, bundle);
    return { text, figure, holds: broken.length === 0, levelCount: levels, broken };
  });
}

/** Whether some requirement asks for levels to be feasible. */
export function requiresFeasible(requirements: readonly Requirement[]): boolean {
  return requirements.some(({ demand }) => demand.kind === "feasible");
}

function brokenBytes(
  { relation, bound }: Extract<Demand, { readonly kind: "bytes" }>,
  { byteCount: found }: PromisedBundle,
): Break[] {
  if (keeps(found, relation, bound)) return [];
  return [{ loadQps: null, part: null, found, bound, reason: amountText("bytes", found) }];
}

function atLevels(
  { scope, demand }: Requirement,
  bundle: PromisedBundle,
): { readonly levels: number; readonly broken: readonly Break[] } {
  const { levels, uncoveredQps } = levelsInScope(scope, bundle.levels);
  const unpromised = uncoveredQps === null ? [] : [uncovered(uncoveredQps, bundle)];
  const none =
    levels.length === 0 && uncoveredQps === null ? [without("no level is feasible")] : [];
  const broken = levels.flatMap((level) => {
    if (demand.kind === "feasible") return level.feasible ? [] : [infeasible(level)];
    return demand.kind === "bytes" ? [] : brokenFigures(demand, level, bundle);
  });
  return { levels: levels.length, broken: [...unpromised, ...none, ...broken.sort(worstFirst)] };
}

function uncovered(qps: number, { levels }: PromisedBundle): Break {
  const top = levels.at(-1)?.loadQps ?? 0;
  return without(`no level is for ${short(qps)} qps, the highest is for ${short(top)}`);
}

function without(reason: string): Break {
  return { loadQps: null, part: null, found: null, bound: null, reason };
}

function infeasible({ loadQps, missed }: PromisedLevel): Break {
  const why = missed.length === 0 ? "not feasible" : missedTexts(missed);
  return { loadQps, part: null, found: null, bound: null, reason: why };
}

/** What nobody promises cannot be relied on, so it is no promise that is kept. */
function brokenFigures(
  { figure, whose, relation, bound }: Extract<Demand, { readonly kind: "level" }>,
  level: PromisedLevel,
  bundle: PromisedBundle,
): Break[] {
  const { loadQps, simulated = [] } = level;
  const subjects = subjectsOf(figure, whose, level);
  if (subjects.length === 0) {
    const known = partsOf(level, whose).map(({ name }) => name);
    const there = known.length === 0 ? "none" : known.join(", ");
    const named = whose.kind === "all" ? "" : `${whose.kind} ${whose.name ?? ""}`.trim();
    const reason = `there is no ${named}, there is ${there}`;
    return [{ loadQps, part: null, found: null, bound: null, reason }];
  }
  return subjects.flatMap(({ part, figures }): Break[] => {
    const found = figures[figure];
    const limit = amountOf(bound, bundle, part);
    if (found === undefined) {
      const reason = `no promise of ${figure}${partText(part)}${whyNot(figure)}`;
      return [{ loadQps, part, found: null, bound: limit, reason }];
    }
    if (keeps(found, relation, limit)) return [];
    const notes = [
      ...(simulated.includes(figure) ? ["simulated"] : []),
      ...(typeof bound === "number" ? [] : [`the ${bound} is ${told(figure, limit)}`]),
    ];
    const noted = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
    const reason = `${told(figure, found)}${partText(part)}${noted}`;
    return [{ loadQps, part, found, bound: limit, reason }];
  });
}

function whyNot(figure: LevelFigure): string {
  return figure === "cost" ? " (give the pools a pricePerHour)" : "";
}

function told(figure: LevelFigure, amount: number): string {
  return amountText(FIGURES[figure].unit, amount);
}

interface Subject {
  readonly part: Part | null;
  readonly figures: Figures;
}

/** A ceiling on violations holds for each class, so that of all queries is that of each as well. */
function subjectsOf(figure: LevelFigure, whose: Whose, level: PromisedLevel): Subject[] {
  const all = { part: null, figures: level.figures };
  if (whose.kind !== "all") {
    const named = partsOf(level, whose);
    const meant = named.filter(({ name }) => whose.name === null || name === whose.name);
    return meant.map(({ name, figures }) => ({ part: { kind: whose.kind, name }, figures }));
  }
  if (figure !== "violations") return [all];
  return [all, ...subjectsOf(figure, { kind: "class", name: null }, level)];
}

function partsOf(level: PromisedLevel, whose: Whose): PromisedLevel["classes"] {
  if (whose.kind === "all") return [];
  return whose.kind === "class" ? level.classes : level.buckets;
}

function amountOf(bound: Bound, bundle: PromisedBundle, part: Part | null): number {
  if (bound === "ceiling") return violationCeiling(bundle.slo);
  return bound === "slo" ? sloMsOf(bundle, part) : bound;
}

function keeps(found: number, relation: Relation, bound: number): boolean {
  switch (relation) {
    case "<=":
      return found <= bound;
    case ">=":
      return found >= bound;
    case "<":
      return found < bound;
    case ">":
      return found > bound;
  }
}

/** Those without an amount keep their order, before all others. */
function worstFirst(a: Break, b: Break): number {
  return distanceOf(b) - distanceOf(a);
}

function distanceOf({ found, bound }: Break): number {
  if (found === null || bound === null) return Number.MAX_VALUE;
  return Math.abs(found - bound);
}

/** Checks a bundle's promises against requirements. */
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

/** Violation of a requirement. */
export interface Break {
  /** Load of the level; null for the whole bundle. */
  readonly loadQps: number | null;
  /** Class or bucket; null for all queries. */
  readonly part: Part | null;
  /** In the figure's unit; null without a promise, or for `feasible`. */
  readonly found: number | null;
  readonly bound: number | null;
  /** Description of the finding. */
  readonly reason: string;
}

export interface Judged {
  readonly text: string;
  /** Name of the figure, such as `accuracy`. */
  readonly figure: string;
  readonly holds: boolean;
  /** Number of checked levels; 0 for the whole bundle. */
  readonly levelCount: number;
  /** Worst first. */
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

/** Returns whether a requirement includes feasibility. */
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
  return without(`no level for ${short(qps)} qps, the highest is for ${short(top)}`);
}

function without(reason: string): Break {
  return { loadQps: null, part: null, found: null, bound: null, reason };
}

function infeasible({ loadQps, missed }: PromisedLevel): Break {
  const why = missed.length === 0 ? "not feasible" : missedTexts(missed);
  return { loadQps, part: null, found: null, bound: null, reason: why };
}

/** A figure without a promise breaks the requirement. */
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
    const reason = `expected ${partNameText(whose)}, got ${there}`;
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
      ...(typeof bound === "number" ? [] : [`the ${bound} is ${amountTextOf(figure, limit)}`]),
    ];
    const noted = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
    const reason = `${amountTextOf(figure, found)}${partText(part)}${noted}`;
    return [{ loadQps, part, found, bound: limit, reason }];
  });
}

function partNameText(whose: Whose): string {
  if (whose.kind === "all") return "a part";
  return whose.name === null ? `a ${whose.kind}` : `${whose.kind} ${whose.name}`;
}

function whyNot(figure: LevelFigure): string {
  return figure === "cost" ? " (give the pools a pricePerHour)" : "";
}

function amountTextOf(figure: LevelFigure, amount: number): string {
  return amountText(FIGURES[figure].unit, amount);
}

interface Subject {
  readonly part: Part | null;
  readonly figures: Figures;
}

/**
 * A ceiling on violations applies to each class, so one for all queries is checked for each class
 * too.
 */
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

/** Violations without an amount come first, in order. */
function worstFirst(a: Break, b: Break): number {
  return distanceOf(b) - distanceOf(a);
}

function distanceOf({ found, bound }: Break): number {
  if (found === null || bound === null) return Number.MAX_VALUE;
  return Math.abs(found - bound);
}

/** Which limits a level misses, and by how much: of this tables, warnings and reports are made. */
import { percent, short } from "./text.ts";

export interface MissedLimit {
  /**
   * Load: more than there is a plan or capacity for. Violations: more than the ceiling. Workers and
   * cores: of those the load takes more than there are, even if no query had to wait.
   */
  readonly limit: "load" | "violations" | "workers" | "cores";
  /** Queries/s, a ratio or a count. */
  readonly found: number;
  /** In the same unit. */
  readonly allowed: number;
  /** The class of queries that misses it; left out where it is all queries. */
  readonly sloClass?: string;
}

/** A rate of violations, and whose it is. */
export interface ClassRate {
  readonly violationRate: number;
  readonly sloClass?: string;
}

/**
 * Those that any level can miss: its load against what is carried, and violations against theirs.
 * @param level null where nothing but violations says what is carried.
 */
export function missedByRates(
  level: { readonly loadQps: number; readonly capacityQps: number } | null,
  rates: readonly ClassRate[],
  ceiling: number,
): MissedLimit[] {
  const over = rates.filter(({ violationRate }) => violationRate > ceiling);
  return [
    ...(level !== null && level.loadQps > level.capacityQps
      ? [{ limit: "load" as const, found: level.loadQps, allowed: level.capacityQps }]
      : []),
    ...over.map(({ violationRate, ...whose }) => {
      return { limit: "violations" as const, found: violationRate, allowed: ceiling, ...whose };
    }),
  ];
}

/** `violations of class fast 7.200% > 5.000%` */
export function missedText({ limit, found, allowed, sloClass }: MissedLimit): string {
  const whose = sloClass === undefined ? "" : ` of class ${sloClass}`;
  if (limit === "violations") return `violations${whose} ${percent(found)} > ${percent(allowed)}`;
  if (limit === "load") return `load ${short(found)} > ${short(allowed)} qps`;
  return `at least ${short(found)} ${limit} > ${short(allowed)}`;
}

export function missedTexts(missed: readonly MissedLimit[]): string {
  return missed.map(missedText).join("; ");
}

/** A cell that says whether a level is feasible, and what it misses. */
export function feasibleText(isFeasible: boolean, missed: readonly MissedLimit[]): string {
  const word = isFeasible ? "yes" : "no";
  if (missed.length === 0) return word;
  return `${word}${isFeasible ? ", but" : ":"} ${missedTexts(missed)}`;
}

/** Finds the limits that a level misses, and by how much, for tables, warnings and reports. */
import type { ExpectedLatency, Slo } from "../bundle/schema.ts";
import { percent, short } from "./text.ts";

export interface MissedLimit {
  /**
   * Load: above that of the plan or the capacity. Violations: above the ceiling. Workers and cores:
   * the load needs more than exist, even if no query had to wait. p50 and p95: a percentile of the
   * latency is above its limit.
   */
  readonly limit: "load" | "violations" | "workers" | "cores" | "p50" | "p95";
  /** Queries/s, a ratio, a count or ms. */
  readonly found: number;
  /** In the same unit. */
  readonly allowed: number;
  /** Class of queries that misses it; left out for all queries. */
  readonly sloClass?: string;
}

/** A violation rate, and the class it belongs to. */
interface ClassRate {
  readonly violationRate: number;
  readonly sloClass?: string;
}

/**
 * Returns the limits that any level can miss: its load against its capacity, and violations against
 * the ceiling.
 * @param level null for levels without a capacity of their own.
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

/** Checks the latency limits of the SLO; a level without stated latencies misses them all. */
export function missedLatencies(
  { p50Ms, p95Ms }: Pick<Slo, "p50Ms" | "p95Ms">,
  latencyMs: ExpectedLatency | undefined,
): MissedLimit[] {
  const { p50, p95 } = latencyMs ?? {};
  const all = [
    { limit: "p50", found: p50, allowed: p50Ms },
    { limit: "p95", found: p95, allowed: p95Ms },
  ] as const;
  return all.flatMap(({ limit, found = Number.POSITIVE_INFINITY, allowed }) =>
    allowed === undefined || found <= allowed ? [] : [{ limit, found, allowed }],
  );
}

/** Returns a text such as `violations of class fast 7.200% > 5.000%`. */
function missedText({ limit, found, allowed, sloClass }: MissedLimit): string {
  const whose = sloClass === undefined ? "" : ` of class ${sloClass}`;
  if (limit === "violations") return `violations${whose} ${percent(found)} > ${percent(allowed)}`;
  if (limit === "load") return `load ${short(found)} > ${short(allowed)} qps`;
  if (isPercentile(limit)) return `${limit} ${short(found)} > ${short(allowed)} ms`;
  return `at least ${short(found)} ${limit} > ${short(allowed)}`;
}

export function isPercentile(limit: MissedLimit["limit"]): boolean {
  return limit === "p50" || limit === "p95";
}

export function missedTexts(missed: readonly MissedLimit[]): string {
  return missed.map(missedText).join("; ");
}

/** Returns a table cell: whether a level is feasible, and what it misses. */
export function feasibleText(isFeasible: boolean, missed: readonly MissedLimit[]): string {
  const word = isFeasible ? "yes" : "no";
  if (missed.length === 0) return word;
  return `${word}${isFeasible ? ", but" : ":"} ${missedTexts(missed)}`;
}

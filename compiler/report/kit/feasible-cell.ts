/** Describes whether a level is feasible and which limits it misses. */
import { isPercentile, type MissedLimit } from "stratagem-runtime/internal/describe/missed-limits";
import type { Markup } from "../markup.ts";
import { decimalText, ratioText } from "../number-text.ts";
import { limited } from "./limited-cell.ts";

/** Cell that is highlighted if a limit is missed. */
export function feasibleCell(isFeasible: boolean, missed: readonly MissedLimit[]): Markup {
  const word = isFeasible ? "yes" : "no";
  const why = missed.length === 0 ? "" : `${isFeasible ? ", but" : ":"} ${missedWords(missed)}`;
  return limited(!isFeasible || missed.length > 0, `${word}${why}`);
}

/** Formats `load 600 > 480/s; violations 7.2% > 5%`. */
export function missedWords(missed: readonly MissedLimit[]): string {
  return missed.map(oneWords).join("; ");
}

function oneWords({ limit, found, allowed, sloClass }: MissedLimit): string {
  const whose = sloClass === undefined ? "" : ` of class ${sloClass}`;
  if (limit === "violations") {
    return `violations${whose} ${ratioText(found)} > ${ratioText(allowed)}`;
  }
  if (limit === "load") return `load ${decimalText(found, 2)} > ${decimalText(allowed, 2)}/s`;
  if (isPercentile(limit))
    return `${limit} ${decimalText(found, 1)} > ${decimalText(allowed, 1)} ms`;
  return `at least ${decimalText(found)} ${limit} > ${decimalText(allowed)}`;
}

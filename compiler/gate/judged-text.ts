/** Formats the results of requirements: a line for each broken one. */
import { counted, short } from "stratagem-runtime/internal/describe/text";
import type { Break, Judged } from "./judge.ts";

/** Most loads that a line names besides the worst level's. */
const MAX_NAMED_LOADS = 6;

export function judgedLines(judged: readonly Judged[]): string[] {
  if (judged.length === 0) return [];
  const broken = judged.filter(({ holds }) => !holds);
  if (broken.length > 0) return broken.map(brokenLine);
  return [`requirements kept: ${judged.map(({ text }) => text).join("; ")}`];
}

/** Formats `BROKEN accuracy >= 97%: 96.100% at level 3200 qps, and at 2400, 2800 qps`. */
function brokenLine(judged: Judged): string {
  return `BROKEN ${judged.text}: ${brokenReason(judged)}`;
}

export function brokenReason({ broken }: Judged): string {
  const [worst, ...others] = broken;
  if (worst === undefined) return "";
  return `${breakText(worst)}${othersText(worst, others)}`;
}

function breakText({ reason, loadQps }: Break): string {
  return loadQps === null ? reason : `${reason} at level ${short(loadQps)} qps`;
}

function othersText(worst: Break, others: readonly Break[]): string {
  const loads = [...new Set(others.flatMap(({ loadQps }) => loadQps ?? []))]
    .filter((loadQps) => loadQps !== worst.loadQps)
    .sort((a, b) => a - b);
  if (loads.length === 0) return "";
  if (loads.length > MAX_NAMED_LOADS) return `, and at ${counted(loads.length, "level")} more`;
  return `, and at ${loads.map(short).join(", ")} qps`;
}

/** A day of recorded traffic in less time: the shape of its load. */
import { twitterCounts } from "../../experiments/harness/reference.ts";
import type { LoadPhase } from "./report.ts";

const DAY_SECONDS = 86_400;
/** Parts of the day, each of one rate. */
const PARTS = 96;

/** Where the shape comes from, in words. */
export const DAY_SOURCE =
  (process.env["STRATAGEM_REFERENCE"] ?? "") === ""
    ? "a sine for a day (STRATAGEM_REFERENCE is unset)"
    : "a day of the recorded trace";

/** The day's rates, scaled so that the highest is `peakQps`. */
export function dayPhases(peakQps: number, seconds: number): LoadPhase[] {
  const rates = dayRates();
  const highest = Math.max(...rates);
  return rates.map((rate) => ({ qps: (peakQps * rate) / highest, seconds: seconds / PARTS }));
}

function dayRates(): number[] {
  if (!DAY_SOURCE.endsWith("trace")) {
    return Array.from(
      { length: PARTS },
      (_, part) => 0.6 - 0.4 * Math.cos((2 * Math.PI * part) / PARTS),
    );
  }
  const counts = twitterCounts().slice(0, DAY_SECONDS);
  const width = Math.floor(counts.length / PARTS);
  return Array.from({ length: PARTS }, (_, part) => {
    const own = counts.slice(part * width, (part + 1) * width);
    return Math.max(
      1,
      own.reduce((sum, count) => sum + count, 0),
    );
  });
}

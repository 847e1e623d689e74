/** The least-squares line through points, and how sure its slope is. */
import { mean } from "../../experiments/harness/numbers.ts";

export interface Fit {
  /** NaN for less than three points. */
  readonly slope: number;
  /** Half the width of its 95 % confidence interval, errors taken as independent and normal. */
  readonly slopeError: number;
  readonly mean: number;
}

export function lineFit(points: readonly (readonly [x: number, y: number])[]): Fit {
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  if (points.length < 3) {
    return { slope: Number.NaN, slopeError: Number.NaN, mean: meanY };
  }
  const spreadX = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spreadX;
  const residual = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  const slopeError = 1.96 * Math.sqrt(residual / (points.length - 2) / spreadX);
  return { slope, slopeError, mean: meanY };
}

/** What memory may grow by in the time that is looked at: MB, or a share of the mean. */
const GROWTH_MB = 16;
const GROWTH_SHARE = 0.1;

/** Whether a fit of MB a minute says for sure that they grew by more than a little in these. */
export function grew({ slope, slopeError, mean: mb }: Fit, minutes: number): boolean {
  return (slope - slopeError) * minutes > Math.max(GROWTH_MB, GROWTH_SHARE * mb);
}

/** Such as "0.1 ± 0.3". */
export function slopeText({ slope, slopeError }: Fit): string {
  return `${slope.toFixed(2)} ± ${slopeError.toFixed(2)}`;
}

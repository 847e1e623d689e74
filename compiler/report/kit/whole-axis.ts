/** Integer axis, and the number of bars with space for letters. */
import type * as Plot from "@observablehq/plot";
import { decimalText } from "../number-text.ts";

/** Most bars that are wide enough for letters and numbers. */
export const MAX_LETTERED = 20;

/** Non-negative integers. */
export function wholeAxis(from: number, to: number): Plot.ScaleOptions {
  const rough = (to - from) / 8;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step) - first + 1;
  return {
    ticks: Array.from({ length: count }, (_, index) => (first + index) * step),
    tickFormat: (value: number) => decimalText(Math.abs(value)),
    grid: true,
  };
}

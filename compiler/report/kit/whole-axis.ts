/** An axis of whole numbers, and how many bars have room for letters. */
import type * as Plot from "@observablehq/plot";
import { decimalText } from "../number-text.ts";

/** Bars with more neighbours than that are too narrow for letters and numbers. */
export const MAX_LETTERED = 20;

/** Whole numbers without their signs. */
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

/** Where a logarithmic axis of rates begins. */
import { NEGLIGIBLE_RATIO } from "../number-text.ts";

/** A power of ten below the ceiling and all rates that are not negligible. */
export function floorOf(rates: readonly number[], ceiling: number): number {
  const told = [...rates, ceiling / 2].filter((rate) => rate > NEGLIGIBLE_RATIO);
  return 10 ** Math.floor(Math.log10(Math.min(0.01, ...told)));
}

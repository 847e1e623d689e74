/** Lower end of a logarithmic axis of rates. */
import { NEGLIGIBLE_RATIO } from "../number-text.ts";

/** Returns a power of ten below the ceiling and all rates that are not negligible. */
export function floorOf(rates: readonly number[], ceiling: number): number {
  const relevant = [...rates, ceiling / 2].filter((rate) => rate > NEGLIGIBLE_RATIO);
  return 10 ** Math.floor(Math.log10(Math.min(0.01, ...relevant)));
}

/** A bundle whose pace levels are levels like the others. */
import type { RamsisBundle } from "../../../bundle/schema.ts";

/**
 * The levels, and then the pace levels, of which nothing but tables and loads is their own. Indices
 * of levels that decide are indices here.
 */
export function withPaceLevels({ paceLevels = [], ...bundle }: RamsisBundle): RamsisBundle {
  const { levels } = bundle;
  const [first] = levels;
  if (first === undefined) throw new RangeError("a bundle has a level");
  return { ...bundle, levels: [...levels, ...paceLevels.map((level) => ({ ...first, ...level }))] };
}

/** Accuracy does not fall as load falls: a level may always use the table of the level above it. */
import type { RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import type { SolvedLevel } from "../method.ts";
import { latencyCost } from "./classed-level.ts";

/** The level of a load with the tables of another level, and what they promise there. */
type WithTableOf = (frame: RamsisFrame, loadQps: number, level: RamsisLevel) => RamsisLevel;

/**
 * @param solved by ascending load.
 * @returns the levels, those that are worse than their upper neighbour's table with that table.
 */
export function inheritLevels(
  frame: RamsisFrame,
  solved: readonly SolvedLevel<RamsisLevel>[],
  { withTableOf }: { readonly withTableOf: WithTableOf },
): SolvedLevel<RamsisLevel>[] {
  const levels = [...solved];
  for (let index = levels.length - 2; index >= 0; index--) {
    const [own, above] = [levels[index], levels[index + 1]];
    if (own === undefined || above === undefined) continue;
    const better = betterOf(frame, own.level, above.level, withTableOf);
    if (better !== null) levels[index] = { ...own, level: better };
  }
  return levels;
}

function betterOf(
  frame: RamsisFrame,
  own: RamsisLevel,
  above: RamsisLevel,
  withTableOf: WithTableOf,
): RamsisLevel | null {
  if (own.feasible && own.expected.accuracyPerQuery >= above.expected.accuracyPerQuery) return null;
  if (!own.feasible && !above.feasible) return null;
  const inherited = withTableOf(frame, own.loadQps, above);
  if (inherited.feasible !== own.feasible) return inherited.feasible ? inherited : null;
  const worth = ({ expected }: RamsisLevel): number =>
    expected.accuracyPerQuery - latencyCost(frame, expected);
  return worth(inherited) > worth(own) ? inherited : null;
}

/** Accuracy does not fall as load falls: a level may always use the table of the level above it. */
import type { RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../model/frames.ts";
import type { SolvedLevel } from "../method.ts";
import { latencyCost } from "./classed-level.ts";

/** The level of a load with the tables of another level, and what they promise there. */
type WithTableOf = (frame: RamsisFrame, loadQps: number, level: RamsisLevel) => RamsisLevel;

/**
 * @param solved by ascending load.
 * @returns the levels, those that are worse than the table of a level above them with the best
 * such table.
 */
export function inheritLevels(
  frame: RamsisFrame,
  solved: readonly SolvedLevel<RamsisLevel>[],
  { withTableOf }: { readonly withTableOf: WithTableOf },
): SolvedLevel<RamsisLevel>[] {
  return solved.map((own, index) => {
    let { level } = own;
    for (const above of solved.slice(index + 1)) {
      level = betterOf(frame, level, above.level, withTableOf) ?? level;
    }
    return level === own.level ? own : { ...own, level };
  });
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

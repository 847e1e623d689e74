/** Accuracy does not fall as load falls: a level may always use the table of the level above it. */
import type { RamsisLevel } from "../../../runtime/bundle/schema.ts";
import type { SolvedLevel } from "../../levels/adaptive-levels.ts";
import type { RamsisFrame, TableSolver } from "../solver.ts";

/** @param solved by ascending load. @returns the levels, those that are worse than their upper neighbour's table with that table. */
export function inheritLevels(
  frame: RamsisFrame,
  solved: readonly SolvedLevel[],
  { withTableOf }: Pick<TableSolver, "withTableOf">,
): SolvedLevel[] {
  const levels = [...solved];
  for (let index = levels.length - 2; index >= 0; index--) {
    const [own, above] = [levels[index], levels[index + 1]];
    if (own === undefined || above === undefined) continue;
    const better = betterOf(
      frame,
      own.level as RamsisLevel,
      above.level as RamsisLevel,
      withTableOf,
    );
    if (better !== null) levels[index] = { ...own, level: better };
  }
  return levels;
}

function betterOf(
  frame: RamsisFrame,
  own: RamsisLevel,
  above: RamsisLevel,
  withTableOf: TableSolver["withTableOf"],
): RamsisLevel | null {
  if (own.feasible && own.expected.accuracyPerQuery >= above.expected.accuracyPerQuery) return null;
  if (!own.feasible && !above.feasible) return null;
  const inherited = withTableOf(frame, own.loadQps, above);
  if (inherited.feasible !== own.feasible) return inherited.feasible ? inherited : null;
  const isBetter = inherited.expected.accuracyPerQuery > own.expected.accuracyPerQuery;
  return isBetter ? inherited : null;
}

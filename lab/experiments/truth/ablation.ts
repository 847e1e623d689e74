/** How many points a prediction holds without its parts. */
import { checksOf } from "stratagem/internal/truth/checks";
import type { BriefOutcome, TruthPoint } from "stratagem/internal/truth/truth-document";

const PARTS = [
  ["with path and contention", ({ predicted }: TruthPoint) => predicted],
  ["without the serving path", ({ ablation }: TruthPoint) => ablation.withoutPath],
  ["without contention", ({ ablation }: TruthPoint) => ablation.withoutContention],
  ["without both", ({ ablation }: TruthPoint) => ablation.withoutBoth],
  ["with the stalls of each run", ({ ablation }: TruthPoint) => ablation.asItWas],
] as const;
const JUDGED = ["p50", "p99", "violations"] as const;

/** A row for each prediction: points at which each figure holds, and all three. */
export function ablationRows(points: readonly TruthPoint[]): (string | number)[][] {
  return PARTS.map(([name, of]) => {
    const known = points.flatMap((point) => {
      const outcome = of(point);
      return outcome === null ? [] : [verdictsOf(point, outcome)];
    });
    if (known.length === 0) return [name, "-", "-", "-", "-"];
    const counts = JUDGED.map((_, index) => heldBy(known, (verdicts) => verdicts[index] === true));
    return [name, ...counts, heldBy(known, (verdicts) => verdicts.every(Boolean))];
  });
}

export function heldBy<T>(items: readonly T[], holds: (item: T) => boolean): number {
  return items.filter(holds).length;
}

/** In the order of JUDGED; of violations, that they are close to what was predicted. */
function verdictsOf(point: TruthPoint, outcome: BriefOutcome): boolean[] {
  const predicted = { ...point.predicted, ...outcome };
  const { measured, promised, queries: requests } = point;
  const checks = checksOf({ promised, predicted, measured, ceiling: 1, requests });
  return JUDGED.map((name) => checks.find((check) => check.name === name)?.holds === true);
}

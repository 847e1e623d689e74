/** Measures for a given time; `chooseRound` selects the cells of each round. */
import { type Choice, chooseRound, FIRST_RUNS } from "./budget.ts";
import { type Bench, type Cell, turnOf, WARM_UP_RUNS } from "./measure.ts";
import type { ProfilePlan } from "./profile-plan.ts";

interface BudgetOptions {
  readonly budgetMs: number;
  /** Part of the budget that earlier runs of the same plan used. */
  readonly spentMs: number;
  /** Longest first warm-up, which is also limited to a part of the budget. */
  readonly warmUpMs: number;
  /** Called after each round with the time used so far. */
  readonly onRound: (cells: readonly Cell[], spentMs: number) => Promise<void>;
  readonly onProgress: (done: number, total: number, stage?: string) => void;
}

/** Part of the budget that the first warm-up may use. */
const WARM_UP_PART = 0.05;

/**
 * Measures until the budget is spent, give or take the last run, or nothing is left to learn.
 * @throws as `Bench.run`.
 */
export async function measureWithin(
  plan: ProfilePlan,
  bench: Bench,
  { budgetMs, spentMs, warmUpMs, onRound, onProgress }: BudgetOptions,
): Promise<void> {
  const { cells, nowMs } = bench;
  const startMs = nowMs();
  const takenMs = (): number => spentMs + nowMs() - startMs;
  const warm = new Set<number>();
  const warmUp = async (cell: number): Promise<void> => {
    const mostMs = warm.size === 0 ? Math.min(warmUpMs, WARM_UP_PART * budgetMs) : 0;
    const fromMs = nowMs();
    for (let run = 0; run < WARM_UP_RUNS || nowMs() - fromMs < mostMs; run++) {
      await bench.run(turnOf(cell), false);
    }
    warm.add(cell);
  };
  const measure = async ({ cell, isFirst }: Choice): Promise<void> => {
    if (!warm.has(cell)) await warmUp(cell);
    const runs = isFirst ? FIRST_RUNS : 1;
    for (let run = 0; run < runs; run++) {
      if (run > 0 && takenMs() >= budgetMs) return;
      await bench.run(turnOf(cell), true);
    }
  };
  while (takenMs() < budgetMs) {
    const leftMs = budgetMs - takenMs();
    const round = chooseRound({ cells, repeat: plan.repeat, leftMs });
    if (round.length === 0) return;
    for (const choice of round) {
      if (takenMs() >= budgetMs) break;
      await measure(choice);
      const doneS = Math.floor(Math.min(takenMs(), budgetMs) / 1000);
      onProgress(doneS, Math.ceil(budgetMs / 1000), "seconds of the budget");
    }
    await onRound(cells, takenMs());
  }
}

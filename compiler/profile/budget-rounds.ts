/** Measures for a given time; `chooseRound` selects the cells of each round. */
import { Rng } from "stratagem-runtime/internal/core/rng";
import { type Choice, chooseRound, FIRST_RUNS } from "./budget.ts";
import { type Bench, type Cell, turnOf, WARM_UP_RUNS } from "./measure.ts";
import type { ProfilePlan } from "./profile-plan.ts";
import { inRandomOrder, ORDER_STREAM } from "./rounds.ts";

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
  const rng = new Rng(plan.seed, ORDER_STREAM);
  // The runs that a cell begins with are in rounds of one run of every chosen cell.
  const measure = async (round: readonly Choice[]): Promise<void> => {
    for (let run = 0; run < FIRST_RUNS; run++) {
      const own = round.filter(({ isFirst }) => run === 0 || isFirst);
      for (const { cell } of inRandomOrder(own, (choice) => cells[choice.cell]?.cores, rng)) {
        if (takenMs() >= budgetMs) return;
        if (!warm.has(cell)) await warmUp(cell);
        await bench.run(turnOf(cell), true);
        const doneS = Math.floor(Math.min(takenMs(), budgetMs) / 1000);
        onProgress(doneS, Math.ceil(budgetMs / 1000), "seconds of the budget");
      }
    }
  };
  while (takenMs() < budgetMs) {
    const leftMs = budgetMs - takenMs();
    const round = chooseRound({ cells, repeat: plan.repeat, leftMs });
    if (round.length === 0) return;
    await measure(round);
    await onRound(cells, takenMs());
  }
}

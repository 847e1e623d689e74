/**
 * The table of the paper, whose batches are all that wait, as a rule for the queue that all workers
 * share: the optimum of one worker that gets a K-th of the arrivals, which of n queries in the
 * common queue takes those of its share. With one worker it is the exact table.
 */
import { GIVE_UP } from "stratagem-runtime/internal/bundle/schema";
import { solvePolicy } from "../objective.ts";
import { stateIndex } from "../transitions.ts";
import { admissibleActions, buildWorkerMdp } from "../worker-mdp.ts";
import type { WorkerProblem } from "../worker-problem.ts";
import type { PooledProblem } from "./pooled-problem.ts";
import type { SimpleRule } from "./simple-rules.ts";

/**
 * Steps of the slack grid where there are many workers: the rule is then a coarse one in any case.
 */
const COARSE_STEPS = 25;

export function oneWorkerRule(pooled: PooledProblem, worker: WorkerProblem): SimpleRule {
  const { workerCount } = worker;
  const grid = workerCount === 1 ? worker.slackMs : evenGrid(pooled.sloMs);
  const problem: WorkerProblem = {
    ...worker,
    workerCount: 1,
    arrivalRatePerMs: worker.arrivalRatePerMs / workerCount,
    slackMs: grid,
    partialBatches: false,
  };
  const mdp = buildWorkerMdp(problem, admissibleActions(problem));
  const { choice } = solvePolicy(mdp, "per-query", pooled.latency.safePrice);
  const indexOf = new Map(
    pooled.actions.map(({ variant, batch, index }) => [`${variant} ${batch}`, index]),
  );
  return {
    name: "value iteration of one worker",
    decide: (queued, slackMs) => {
      const share = Math.min(problem.maxQueue, Math.ceil(queued / workerCount));
      const column = Math.max(
        0,
        grid.findLastIndex((ms) => ms <= slackMs),
      );
      const chosen = choice[stateIndex(grid.length, share, column)] ?? 0;
      const variant = mdp.actionVariant[chosen] ?? 0;
      return indexOf.get(`${variant} ${mdp.actionBatch[chosen] ?? 0}`) ?? GIVE_UP;
    },
  };
}

function evenGrid(sloMs: number): Float64Array {
  return Float64Array.from({ length: COARSE_STEPS + 1 }, (_, step) =>
    step === COARSE_STEPS ? sloMs : (step * sloMs) / COARSE_STEPS,
  );
}

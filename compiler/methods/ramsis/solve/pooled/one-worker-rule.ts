/**
 * The table of the paper, whose batches are all waiting queries, as a rule: exact for one worker.
 */
import { GIVE_UP } from "stratagem-runtime/internal/bundle/schema";
import { solvePolicy } from "../objective.ts";
import { stateIndex } from "../transitions.ts";
import { admissibleActions, buildWorkerMdp } from "../worker-mdp.ts";
import type { WorkerProblem } from "../worker-problem.ts";
import type { PooledProblem } from "./pooled-problem.ts";
import type { SimpleRule } from "./simple-rules.ts";

export function oneWorkerRule(pooled: PooledProblem, worker: WorkerProblem): SimpleRule {
  const { slackMs: grid, maxQueue } = worker;
  const problem: WorkerProblem = { ...worker, partialBatches: false };
  const mdp = buildWorkerMdp(problem, admissibleActions(problem));
  const { choice } = solvePolicy(mdp, "per-query", pooled.latency.safePrice);
  const indexOf = new Map(
    pooled.actions.map(({ variant, batch, index }) => [`${variant} ${batch}`, index]),
  );
  return {
    name: "value iteration of one worker",
    decide: (queued, slackMs) => {
      const waiting = Math.min(maxQueue, queued);
      const column = Math.max(
        0,
        grid.findLastIndex((ms) => ms <= slackMs),
      );
      const chosen = choice[stateIndex(grid.length, waiting, column)] ?? 0;
      const variant = mdp.actionVariant[chosen] ?? 0;
      return indexOf.get(`${variant} ${mdp.actionBatch[chosen] ?? 0}`) ?? GIVE_UP;
    },
  };
}

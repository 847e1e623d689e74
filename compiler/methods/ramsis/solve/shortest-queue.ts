/**
 * Shortest-queue-first instead of round-robin: RAMSIS appendix I, after V. Gupta, M.
 * Harchol-Balter, K. Sigman and W. Whitt, "Analysis of join-the-shortest-queue routing for web
 * server farms", Performance Evaluation 64, 2007.
 *
 * Arrivals at one worker are modelled as a separate process, at rate λ/K while a decision finds at
 * most two queries and at (λ/Kμ)^K·μ from three on. The appendix calls μ a mean latency; the
 * formula is Gupta's with μ a service rate, and is read so. It says to take the most accurate speed
 * the load allows: the slowest service time l(m, 1) among variants that carry λ/K with batches of
 * at most SLO/2. If the load needs batches, λ/Kμ exceeds 1 and the formula would send a crowded
 * worker more than its share; then it is sent its share, λ/K.
 */
import { serviceTimeMs, type WorkerProblem } from "./worker-problem.ts";

/**
 * One worker by itself, whose every arrival is one of its queries.
 * @param problem the round-robin one.
 */
export function joinShortestQueue(problem: WorkerProblem): WorkerProblem {
  const { workerCount, arrivalRatePerMs } = problem;
  const shareOfOne = arrivalRatePerMs / workerCount;
  const ratePerMs = 1 / slowestServiceMs(problem, shareOfOne);
  const crowdedRatePerMs = Math.min(
    shareOfOne,
    Math.exp(workerCount * Math.log(shareOfOne / ratePerMs)) * ratePerMs,
  );
  return { ...problem, workerCount: 1, arrivalRatePerMs: shareOfOne, crowdedRatePerMs };
}

/**
 * max l(m, 1) over the variants of which some batch takes at most SLO / 2 and carries `shareOfOne`;
 * of the fastest variant without one.
 */
function slowestServiceMs(problem: WorkerProblem, shareOfOne: number): number {
  const { candidates, maxQueue, slackMs } = problem;
  const sloMs = slackMs[slackMs.length - 1] ?? 0;
  const batches = Array.from({ length: maxQueue }, (_, index) => index + 1);
  const carries = (variant: number): boolean =>
    batches.some((batch) => {
      const ms = serviceTimeMs(problem, variant, batch);
      return ms <= sloMs / 2 && batch / ms >= shareOfOne;
    });
  const singleMs = (variant: number): number => serviceTimeMs(problem, variant, 1);
  const able = candidates.filter(carries).map(singleMs);
  return able.length > 0 ? Math.max(...able) : Math.min(...candidates.map(singleMs));
}

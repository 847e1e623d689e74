/** Evaluates one configuration on traces, one after the other, with the estimator. */
import { FeedForward } from "../../../graph/feed-forward.ts";
import type { Configuration } from "../../../graph/served-tasks.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import type { ProvisioningProblem } from "./problem.ts";

interface Verdict {
  readonly traces: number;
  /** Traces on which no more requests miss the SLO than allowed. */
  readonly met: number;
  /** Share of all requests that miss it. */
  readonly missRate: number;
  /** The latency percentile that must meet the SLO, on the trace where it is highest. */
  readonly percentileMs: number;
}

/** @param missesAllowed traces that may miss the SLO before the others are left untried. */
export function judge(
  problem: ProvisioningProblem,
  configuration: Configuration,
  traces: Iterable<RequestTrace>,
  missesAllowed = Number.POSITIVE_INFINITY,
): Verdict {
  let tried = 0;
  let met = 0;
  let misses = 0;
  let requests = 0;
  let percentileMs = 0;
  for (const trace of traces) {
    if (tried - met > missesAllowed) break;
    const estimate = new FeedForward(problem, trace, problem.sloMs);
    for (const [stage, one] of configuration.entries()) {
      estimate.prepare(stage);
      estimate.serve(stage, one, Number.POSITIVE_INFINITY);
    }
    const late = estimate.misses();
    tried++;
    misses += late;
    requests += estimate.requestCount;
    if (late <= estimate.allowedMisses) met++;
    percentileMs = Math.max(percentileMs, estimate.percentileMs());
  }
  const missRate = requests === 0 ? 0 : misses / requests;
  return { traces: tried, met, missRate, percentileMs };
}

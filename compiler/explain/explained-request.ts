/** Explains why a request took its time and got its variant, as data. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { Description } from "stratagem-runtime/internal/methods/method";
import { methodOf as runtimeMethodOf } from "stratagem-runtime/internal/methods/registry";
import type { CompilerMethod } from "../methods/method.ts";
import { type ExplainedRun, explainedRun } from "./explained-run.ts";
import type { LoggedRequest } from "./logged-request.ts";
import type { RequestContext } from "./request-context.ts";
import { criticalRuns, isAnswered, latencyMs, STEPS, type StepTimes, stepsOf } from "./steps.ts";

/**
 * Gone: the client left before the answer. Failed: rejected, but not for lack of time or capacity.
 */
export type Verdict = "in time" | "late" | "dropped" | "failed" | "gone";

/** Reasons of rejections that the policy or the gate decided. */
const DROPPED: ReadonlySet<string> = new Set([
  ...["queue-full", "shed", "late", "timeout", "no-worker", "sequences-full"],
]);

export interface ExplainedRequest {
  readonly request: LoggedRequest;
  readonly verdict: Verdict;
  readonly latencyMs: number;
  /** The longest latency that its SLO allows. */
  readonly sloMs: number;
  readonly steps: StepTimes;
  /** In the order of the log. */
  readonly runs: readonly ExplainedRun[];
  /** Batches that it waited for, one after another. */
  readonly path: readonly ExplainedRun[];
  /** Decision of the longest batch on the path; null if the log does not identify it. */
  readonly decision: ExplainedDecision | null;
  readonly context: RequestContext;
}

interface ExplainedDecision {
  /** In the form that `inspect --state` accepts. */
  readonly state: string;
  readonly levelQps: number;
  /** Same output as `inspect --level --state`. */
  readonly report: Description;
}

export function verdictOf(request: LoggedRequest, sloMs: number): Verdict {
  if (request.status === null) return "gone";
  if (isAnswered(request)) return latencyMs(request) > sloMs ? "late" : "in time";
  return DROPPED.has(request.reason ?? "") ? "dropped" : "failed";
}

/** Explains a request by the decision of the slowest batch on its path. */
export async function explainRequest(
  bundle: Bundle,
  method: CompilerMethod,
  request: LoggedRequest,
  context: RequestContext,
): Promise<ExplainedRequest> {
  const sloMs = request.sloMs ?? bundle.slo.latencyMs;
  const critical = criticalRuns(request.runs);
  const runs = request.runs.map((run) => explainedRun(bundle, method, run, request.kind));
  const path = critical.map((run) => {
    const explained = runs[request.runs.indexOf(run)];
    if (explained === undefined)
      throw new RangeError("expected the path to consist of runs of the request");
    return explained;
  });
  return {
    request,
    verdict: verdictOf(request, sloMs),
    latencyMs: latencyMs(request),
    sloMs,
    steps: stepsOf(request),
    runs,
    path,
    decision: await decisionOf(bundle, method, path.at(-1) ?? runs.at(-1)),
    context,
  };
}

/** Returns the output of `inspect` for the state, with the value of each alternative. */
async function decisionOf(
  bundle: Bundle,
  method: CompilerMethod,
  run: ExplainedRun | undefined,
): Promise<ExplainedDecision | null> {
  if (run === undefined || run.state === null || run.levelQps === null) return null;
  const { state, level, levelQps } = run;
  const actionValuesOf = async (...asked: Parameters<CompilerMethod["actionValues"]>) =>
    method.actionValues(...asked);
  try {
    const request = { text: state, loadQps: levelQps, level: level ?? undefined, actionValuesOf };
    const report = await runtimeMethodOf(bundle).describeState(bundle, request);
    return { state, levelQps, report };
  } catch (error) {
    // The log has a state that this bundle lacks.
    if (error instanceof RuntimeError) return null;
    throw error;
  }
}

/** Returns the longest step; of equals, the first. */
export function longestStep(steps: StepTimes): (typeof STEPS)[number] {
  return STEPS.reduce((longest, name) => (steps[name] > steps[longest] ? name : longest));
}

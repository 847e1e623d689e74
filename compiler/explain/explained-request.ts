/** Why a request took the time that it took, and got the variant that it got: as data. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { Description } from "stratagem-runtime/internal/methods/method";
import { methodOf as runtimeMethodOf } from "stratagem-runtime/internal/methods/registry";
import type { CompilerMethod } from "../methods/method.ts";
import { type ExplainedRun, explainedRun } from "./explained-run.ts";
import type { LoggedRequest } from "./logged-request.ts";
import type { RequestContext } from "./request-context.ts";
import { criticalRuns, isAnswered, latencyMs, STEPS, type StepTimes, stepsOf } from "./steps.ts";

/** Gone: its client was, before the answer. Failed: not for want of time or room. */
export type Verdict = "in time" | "late" | "dropped" | "failed" | "gone";

/** What it was refused for that is the policy's or the gate's decision. */
const DROPPED: ReadonlySet<string> = new Set([
  ...["queue-full", "shed", "late", "timeout", "no-worker", "sequences-full"],
]);

export interface ExplainedRequest {
  readonly request: LoggedRequest;
  readonly verdict: Verdict;
  readonly latencyMs: number;
  /** What its answer might take. */
  readonly sloMs: number;
  readonly steps: StepTimes;
  /** In the order of the log. */
  readonly runs: readonly ExplainedRun[];
  /** Those that it waited for, one after another. */
  readonly path: readonly ExplainedRun[];
  /** What took longest of the path was decided by; null where nothing is known of a decision. */
  readonly decision: ExplainedDecision | null;
  readonly context: RequestContext;
}

export interface ExplainedDecision {
  /** As `inspect --state` takes it. */
  readonly state: string;
  readonly levelQps: number;
  /** The same that `inspect --level --state` tells. */
  readonly told: Description;
}

export function verdictOf(request: LoggedRequest, sloMs: number): Verdict {
  if (request.status === null) return "gone";
  if (isAnswered(request)) return latencyMs(request) > sloMs ? "late" : "in time";
  return DROPPED.has(request.reason ?? "") ? "dropped" : "failed";
}

/** The slower of two batches of a path counts. */
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
    if (explained === undefined) throw new RangeError("a run of the path is a run of the request");
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

/** What `inspect` says of the state, with what each alternative would have been worth. */
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
    const told = await runtimeMethodOf(bundle).describeState(bundle, request);
    return { state, levelQps, told };
  } catch (error) {
    // A state that this bundle does not have, though a log speaks of it.
    if (error instanceof RuntimeError) return null;
    throw error;
  }
}

/** The step that took longest; of two the first. */
export function longestStep(steps: StepTimes): (typeof STEPS)[number] {
  return STEPS.reduce((longest, name) => (steps[name] > steps[longest] ? name : longest));
}

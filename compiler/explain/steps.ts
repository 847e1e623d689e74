/** Where the time of a request went, step by step. */
import type { LoggedRequest, LoggedRun } from "./logged-request.ts";

/** In the order in which a request goes through them. */
export const STEPS = [
  "waiting for the server",
  "reading",
  "queue",
  "handing over",
  "compute",
  "to the worker and back",
  "answering",
  "untold",
] as const;

export type StepName = (typeof STEPS)[number];
export type StepTimes = Readonly<Record<StepName, number>>;

/** Between the end of a task and what follows it: two readings of one clock are apart. */
const SAME_MS = 0.01;

/**
 * The batches that a request waited for, one after another: back from the one that was done last,
 * each time to the last that was done before its query was handed in. Those of other branches and
 * rows ran beside them.
 */
export function criticalRuns(runs: readonly LoggedRun[]): LoggedRun[] {
  const path: LoggedRun[] = [];
  let beforeMs = Number.POSITIVE_INFINITY;
  for (;;) {
    const run = lastDone(runs, beforeMs);
    if (run === undefined || path.includes(run)) return path.reverse();
    path.push(run);
    const startMs = waitedFromMs(run, runs);
    if (startMs === null) return path.reverse();
    beforeMs = startMs + SAME_MS;
  }
}

function lastDone(runs: readonly LoggedRun[], beforeMs: number): LoggedRun | undefined {
  let last: LoggedRun | undefined;
  for (const run of runs) {
    if (run.doneMs === null || run.doneMs > beforeMs) continue;
    if (last === undefined || run.doneMs > (last.doneMs ?? 0)) last = run;
  }
  return last;
}

/** When its query began to wait for it; null where it came with the request. */
function waitedFromMs(run: LoggedRun, runs: readonly LoggedRun[]): number | null {
  const { waitMs, decidedMs } = run;
  if (decidedMs === null) return null;
  if (waitMs !== null) return decidedMs - waitMs;
  // Where a worker was lost under it, it waited again from then on.
  const lost = runs.filter(({ isLost }) => isLost);
  return lastDone(lost, decidedMs)?.doneMs ?? null;
}

/**
 * The steps sum to the time from the arrival to the end. What the log does not tell apart, of old
 * logs and of requests without an answer, is untold.
 */
export function stepsOf(request: LoggedRequest): StepTimes {
  const { lagMs, totalMs, failedMs, readMs } = request;
  const steps = Object.fromEntries(STEPS.map((name) => [name, 0])) as Record<StepName, number>;
  steps["waiting for the server"] = lagMs;
  const path = criticalRuns(request.runs);
  const last = path.at(-1);
  if (last === undefined || last.doneMs === null) {
    steps.reading = readMs ?? 0;
    steps.queue = Math.max(0, (failedMs ?? readMs ?? 0) - steps.reading);
    steps.answering = failedMs === null ? 0 : Math.max(0, totalMs - failedMs);
  } else {
    for (const run of path) {
      addRun(steps, run, waitedFromMs(run, request.runs) ?? readMs ?? 0);
    }
    steps.reading = readMs ?? 0;
    steps.answering = Math.max(0, totalMs - last.doneMs);
  }
  const told = STEPS.reduce((sum, name) => sum + steps[name], 0);
  steps.untold = Math.max(0, lagMs + totalMs - told);
  return steps;
}

function addRun(steps: Record<StepName, number>, run: LoggedRun, fromMs: number): void {
  const { decidedMs, handedMs, doneMs, workerMs } = run;
  if (decidedMs === null || doneMs === null) return;
  const handed = handedMs ?? decidedMs;
  steps.queue += Math.max(0, decidedMs - fromMs);
  steps["handing over"] += Math.max(0, handed - decidedMs);
  const awayMs = Math.max(0, doneMs - handed);
  // Of a worker that was lost nothing is known but how long it was waited for.
  const computeMs = Math.min(awayMs, workerMs ?? awayMs);
  steps.compute += computeMs;
  steps["to the worker and back"] += awayMs - computeMs;
}

/** What a client's request took, ms, with what the server was behind when it came. */
export function latencyMs({ lagMs, totalMs }: LoggedRequest): number {
  return lagMs + totalMs;
}

/** Whether there was an answer, of whatever protocol. */
export function isAnswered({ status, isGrpc }: LoggedRequest): boolean {
  return status !== null && (isGrpc ? status === 0 : status < 300);
}

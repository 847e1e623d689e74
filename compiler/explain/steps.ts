/** Splits the time of a request into steps. */
import type { LoggedRequest, LoggedRun } from "./logged-request.ts";

/** In the order in which a request passes through them. */
export const STEPS = [
  "waiting for the server",
  "reading",
  "queue",
  "handing over",
  "compute",
  "to the worker and back",
  "answering",
  "unattributed",
] as const;

export type StepName = (typeof STEPS)[number];
export type StepTimes = Readonly<Record<StepName, number>>;

/** Returns the name of a step for people. */
export function labelOf(name: StepName): string {
  return name === "unattributed" ? "not attributed" : name;
}

/** Two readings of one clock differ by less, between the end of a task and what follows it. */
const SAME_MS = 0.01;

/**
 * Returns the batches on a request's critical path: starting from the last one, each preceded by
 * the last that finished before its query was queued. Batches of other branches and rows ran in
 * parallel.
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

/** Time when its query was queued; null if that was the request's arrival. */
function waitedFromMs(run: LoggedRun, runs: readonly LoggedRun[]): number | null {
  const { waitMs, decidedMs } = run;
  if (decidedMs === null) return null;
  if (waitMs !== null) return decidedMs - waitMs;
  // After losing a worker, the query waited again.
  const lost = runs.filter(({ isLost }) => isLost);
  return lastDone(lost, decidedMs)?.doneMs ?? null;
}

/**
 * Splits the time from arrival to end. Time that old logs, and requests without an answer, do not
 * attribute to a step is `unattributed`.
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
  const attributedMs = STEPS.reduce((sum, name) => sum + steps[name], 0);
  steps.unattributed = Math.max(0, lagMs + totalMs - attributedMs);
  return steps;
}

function addRun(steps: Record<StepName, number>, run: LoggedRun, fromMs: number): void {
  const { decidedMs, handedMs, doneMs, workerMs } = run;
  if (decidedMs === null || doneMs === null) return;
  const handed = handedMs ?? decidedMs;
  steps.queue += Math.max(0, decidedMs - fromMs);
  steps["handing over"] += Math.max(0, handed - decidedMs);
  const awayMs = Math.max(0, doneMs - handed);
  // For a lost worker only the waiting time is known.
  const computeMs = Math.min(awayMs, workerMs ?? awayMs);
  steps.compute += computeMs;
  steps["to the worker and back"] += awayMs - computeMs;
}

/** Latency for the client, ms, including the event loop's lag at its arrival. */
export function latencyMs({ lagMs, totalMs }: LoggedRequest): number {
  return lagMs + totalMs;
}

/** True for a successful answer over HTTP or gRPC. */
export function isAnswered({ status, isGrpc }: LoggedRequest): boolean {
  return status !== null && (isGrpc ? status === 0 : status < 300);
}

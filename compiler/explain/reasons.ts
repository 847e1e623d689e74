/** Why a request took as long as it did: sentences, each with the time that it explains. */
import { counted, percent, rounded, short } from "stratagem-runtime/internal/describe/text";
import type { ExplainedRequest } from "./explained-request.ts";
import type { ExplainedRun } from "./explained-run.ts";
import type { SeenBatch } from "./ran-batches.ts";
import { STEPS, type StepName } from "./steps.ts";

/** A batch that takes longer than so many times its profiled median is told as slow. */
export const SLOW_FACTOR = 1.5;
/** Steps that are a smaller part of the time are not worth a sentence. */
const LEAST_SHARE = 0.05;
/** Time of the server's own process that is worth a sentence whatever its share, ms. */
const LEAST_SERVER_MS = 5;
/** Load above the level's that noise does not explain. */
const EXCESS_LOAD = 1.2;

export interface Reason {
  readonly step: StepName;
  readonly ms: number;
  readonly text: string;
}

/** Of a batch against its profile, as a multiple of its median; null where that is not known. */
export type TimesProfiledOf = (batch: SeenBatch) => number | null;

/** The steps that took long, the longest first. */
export function reasonsOf(explained: ExplainedRequest, timesOf: TimesProfiledOf): Reason[] {
  const { steps, latencyMs } = explained;
  return STEPS.filter((step) => steps[step] >= LEAST_SHARE * latencyMs && steps[step] > 0)
    .map((step) => ({ step, ms: steps[step], text: reasonText(explained, step, timesOf) }))
    .sort((a, b) => b.ms - a.ms);
}

function reasonText(explained: ExplainedRequest, step: StepName, timesOf: TimesProfiledOf): string {
  const ms = `${rounded(explained.steps[step])} ms`;
  if (step === "waiting for the server") {
    return `${ms} until the server's process saw it: its event loop was behind`;
  }
  if (step === "reading") {
    return `${ms} until it was read: its body was not there yet, or the process had other work`;
  }
  if (step === "queue") return `${ms} in the queue: ${queueText(explained, timesOf)}`;
  if (step === "handing over") return `${ms} until its batch was put together and sent to a worker`;
  if (step === "compute") return computeText(explained);
  if (step === "to the worker and back") {
    return (
      `${ms} on the way to the worker and back, beside what it computed: the worker woke up ` +
      "late, or the server's process took the result late"
    );
  }
  if (step === "answering") return answeringText(explained, ms);
  return `${ms} of which the log does not say where they went`;
}

function answeringText({ verdict }: ExplainedRequest, ms: string): string {
  if (verdict === "gone") return `${ms} until its client was gone`;
  const what = verdict === "dropped" || verdict === "failed" ? "refusal" : "answer";
  const why = "the process had other work, or the client reads slowly";
  return `${ms} until its ${what} was written and taken: ${why}`;
}

function computeText({ path, steps }: ExplainedRequest): string {
  const total = `${rounded(steps.compute)} ms computing`;
  if (path.length === 1 && path[0] !== undefined) return `${total}: ${runTime(path[0])}`;
  return `${total}: ${path.map((run) => `${nameOf(run)} ${runTime(run)}`).join("; ")}`;
}

/** `9.1 ms, 2.1x its profiled p50 of 4.3 ms`. */
export function runTime(run: ExplainedRun): string {
  const { workerMs, profiled, timesProfiled } = run;
  if (run.isLost) return "its worker was lost";
  if (workerMs === null) return "a time that the log does not have";
  if (profiled === null || timesProfiled === null) {
    return `${rounded(workerMs)} ms, and the bundle has no times of such a batch`;
  }
  const { p50Ms, decisionMs } = profiled;
  const of = p50Ms === null ? "the time that decisions count with," : "its profiled p50 of";
  const profiledMs = rounded(p50Ms ?? decisionMs);
  return `${rounded(workerMs)} ms, ${times(timesProfiled)} ${of} ${profiledMs} ms`;
}

function times(factor: number): string {
  return `${factor >= 10 ? Math.round(factor) : factor.toFixed(1)}x`;
}

export function nameOf({ task, variant, batch }: SeenBatch["run"]): string {
  return `${task === null ? "" : `${task} as `}${variant} on ${counted(batch, "query", "queries")}`;
}

function queueText(explained: ExplainedRequest, timesOf: TimesProfiledOf): string {
  const { context, steps } = explained;
  const { ahead, batchesBefore, idleMs } = context;
  const parts = [
    ahead.requests === 0
      ? "nothing waited before it"
      : `${counted(ahead.requests, "request")}, ${counted(ahead.rows, "row")}, waited when it came`,
  ];
  if (batchesBefore.length > 0) parts.push(batchesText(batchesBefore, timesOf));
  const freeShare = steps.queue > 0 ? idleMs / steps.queue : 0;
  // Workers of a pipeline may have other models, and a query waits more than once.
  const isOneTask = explained.runs.every(({ task, places }) => task === null && places === null);
  if (isOneTask && freeShare > 0.1) {
    const what = `for ${rounded(idleMs)} ms of it a worker was free by the log`;
    parts.push(`${what}: the policy waited for more queries, or the server's process was not on`);
  }
  return parts.join("; ");
}

/** How many batches ran, and which of them were slow. */
function batchesText(batches: readonly SeenBatch[], timesOf: TimesProfiledOf): string {
  const longest = batches.reduce((a, b) => (b.endMs - b.startMs > a.endMs - a.startMs ? b : a));
  const slow = batches.filter((batch) => (timesOf(batch) ?? 0) > SLOW_FACTOR);
  const longestMs = longest.endMs - longest.startMs;
  const longestTimes = timesOf(longest);
  const against = longestTimes === null ? "" : `, ${times(longestTimes)} its profiled median`;
  return (
    `${counted(batches.length, "batch", "batches")} ran meanwhile, the longest ` +
    `${nameOf(longest.run)} for ${rounded(longestMs)} ms${against}` +
    (slow.length === 0 ? "" : `; ${slow.length} of them took more than ${SLOW_FACTOR}x theirs`)
  );
}

/** What is to be said beside the steps: load, lost workers, the process itself. */
export function circumstances(explained: ExplainedRequest): string[] {
  const { context, path, runs, steps, latencyMs } = explained;
  const told: string[] = [];
  const { loadQps, lost, silence } = context;
  const level = (path.at(-1) ?? runs.at(-1))?.levelQps ?? null;
  if (loadQps !== null && level !== null) {
    const beside = `${rounded(loadQps)} queries/s came in the half second before it was decided`;
    told.push(
      loadQps > EXCESS_LOAD * level
        ? `${beside}, ${times(loadQps / level)} what the level is for, ${short(level)}`
        : `${beside}; the level that decided is for ${short(level)}`,
    );
  }
  const ownLost = runs.filter(({ isLost }) => isLost).length;
  if (ownLost > 0) told.push(`${counted(ownLost, "worker")} was lost under it, and it ran again`);
  if (lost > 0) told.push(`${counted(lost, "batch", "batches")} of others lost a worker meanwhile`);
  const serverMs = latencyMs - steps.queue - steps.compute;
  if (serverMs >= Math.max(LEAST_SERVER_MS, 0.25 * latencyMs)) {
    told.push(
      `${rounded(serverMs)} ms, ${percent(serverMs / latencyMs)}, are neither queue nor compute: ` +
        "the server's process or the machine was busy with something else",
    );
  }
  if (silence.ms > 0.3 * latencyMs && silence.ms > 4 * LEAST_SERVER_MS) {
    told.push(`for ${rounded(silence.ms)} ms nothing at all began or ended in the server`);
  }
  return told;
}

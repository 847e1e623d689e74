/** Sentences that say why a request took long, each with the time that it accounts for. */
import { counted, percent, rounded, short } from "stratagem-runtime/internal/describe/text";
import type { ExplainedRequest } from "./explained-request.ts";
import type { ExplainedRun } from "./explained-run.ts";
import type { SeenBatch } from "./ran-batches.ts";
import { STEPS, type StepName } from "./steps.ts";

/** A batch counts as slow above this multiple of its profiled median. */
export const SLOW_FACTOR = 1.5;
/** Smallest share of the latency for which a step gets a sentence. */
const LEAST_SHARE = 0.05;
/** Time in the server's process that gets a sentence whatever its share, ms. */
const LEAST_SERVER_MS = 5;
/** Ratio of arrivals to the level's load above which noise is no explanation. */
const EXCESS_LOAD = 1.2;

export interface Reason {
  readonly step: StepName;
  readonly ms: number;
  readonly text: string;
}

/** Returns a batch's time as a multiple of its profiled median; null if unknown. */
export type TimesProfiledOf = (batch: SeenBatch) => number | null;

/** Returns a sentence for each step that took long, longest first. */
export function reasonsOf(explained: ExplainedRequest, timesOf: TimesProfiledOf): Reason[] {
  const { steps, latencyMs } = explained;
  return STEPS.filter((step) => steps[step] >= LEAST_SHARE * latencyMs && steps[step] > 0)
    .map((step) => ({ step, ms: steps[step], text: reasonText(explained, step, timesOf) }))
    .sort((a, b) => b.ms - a.ms);
}

function reasonText(explained: ExplainedRequest, step: StepName, timesOf: TimesProfiledOf): string {
  const ms = `${rounded(explained.steps[step])} ms`;
  if (step === "waiting for the server") {
    return `${ms} until the server's process noticed it: its event loop was delayed`;
  }
  if (step === "reading") {
    return `${ms} until it was read: its body had not arrived, or the process was busy`;
  }
  if (step === "queue") return `${ms} in the queue: ${queueText(explained, timesOf)}`;
  if (step === "handing over") return `${ms} until its batch was assembled and sent to a worker`;
  if (step === "compute") return computeText(explained);
  if (step === "to the worker and back") {
    return (
      `${ms} between server and worker, in addition to computing: the worker started ` +
      "late, or the server's process read the result late"
    );
  }
  if (step === "answering") return answeringText(explained, ms);
  return `${ms} that the log does not attribute to a step`;
}

function answeringText({ verdict }: ExplainedRequest, ms: string): string {
  if (verdict === "gone") return `${ms} until its client disconnected`;
  const what = verdict === "dropped" || verdict === "failed" ? "rejection" : "answer";
  const why = "the process was busy, or the client reads slowly";
  return `${ms} until its ${what} was written and received: ${why}`;
}

function computeText({ path, steps }: ExplainedRequest): string {
  const total = `${rounded(steps.compute)} ms computing`;
  if (path.length === 1 && path[0] !== undefined) return `${total}: ${runTime(path[0])}`;
  return `${total}: ${path.map((run) => `${nameOf(run)} ${runTime(run)}`).join("; ")}`;
}

/** Formats `9.1 ms, 2.1x its profiled p50 of 4.3 ms`. */
export function runTime(run: ExplainedRun): string {
  const { workerMs, profiled, timesProfiled } = run;
  if (run.isLost) return "its worker was lost";
  if (workerMs === null) return "a time that was not logged";
  if (profiled === null || timesProfiled === null) {
    return `${rounded(workerMs)} ms; the bundle has no profiled time for such a batch`;
  }
  const { p50Ms, decisionMs } = profiled;
  const of = p50Ms === null ? "the time that decisions assume," : "its profiled p50 of";
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
      ? "no request was waiting at its arrival"
      : `${counted(ahead.requests, "request")}, ${counted(ahead.rows, "row")}, waiting at ` +
        `its arrival`,
  ];
  if (batchesBefore.length > 0) parts.push(batchesText(batchesBefore, timesOf));
  const freeShare = steps.queue > 0 ? idleMs / steps.queue : 0;
  // Workers of a pipeline may serve other models, and a query waits more than once.
  const isOneTask = explained.runs.every(({ task, places }) => task === null && places === null);
  if (isOneTask && freeShare > 0.1) {
    const what = `a worker was idle for ${rounded(idleMs)} ms of that`;
    parts.push(`${what}: the policy waited for more queries, or the server's process was delayed`);
  }
  return parts.join("; ");
}

/** Counts the batches and says which of them were slow. */
function batchesText(batches: readonly SeenBatch[], timesOf: TimesProfiledOf): string {
  const longest = batches.reduce((a, b) => (b.endMs - b.startMs > a.endMs - a.startMs ? b : a));
  const slow = batches.filter((batch) => (timesOf(batch) ?? 0) > SLOW_FACTOR);
  const longestMs = longest.endMs - longest.startMs;
  const longestTimes = timesOf(longest);
  const against = longestTimes === null ? "" : `, ${times(longestTimes)} its profiled median`;
  return (
    `${counted(batches.length, "batch", "batches")} ran in that time, the longest ` +
    `${nameOf(longest.run)} for ${rounded(longestMs)} ms${against}` +
    (slow.length === 0
      ? ""
      : `; ${slow.length} of them took more than ${SLOW_FACTOR}x their profiled median`)
  );
}

/** Returns sentences about the load, lost workers and the server's process. */
export function circumstances(explained: ExplainedRequest): string[] {
  const { context, path, runs, steps, latencyMs } = explained;
  const sentences: string[] = [];
  const { loadQps, lost, silence } = context;
  const level = (path.at(-1) ?? runs.at(-1))?.levelQps ?? null;
  if (loadQps !== null && level !== null) {
    const arrivals = `${rounded(loadQps)} queries/s arrived in the half second before its decision`;
    sentences.push(
      loadQps > EXCESS_LOAD * level
        ? `${arrivals}, ${times(loadQps / level)} the load of the level, ${short(level)}`
        : `${arrivals}; the level that decided is for ${short(level)}`,
    );
  }
  const ownLost = runs.filter(({ isLost }) => isLost).length;
  if (ownLost > 0)
    sentences.push(`${counted(ownLost, "worker")} was lost while running it; it ran again`);
  if (lost > 0)
    sentences.push(
      `${counted(lost, "batch", "batches")} of other requests lost a worker in that time`,
    );
  const serverMs = latencyMs - steps.queue - steps.compute;
  if (serverMs >= Math.max(LEAST_SERVER_MS, 0.25 * latencyMs)) {
    sentences.push(
      `${rounded(serverMs)} ms, ${percent(serverMs / latencyMs)}, were neither in the queue ` +
        `nor computing: ` +
        "the server's process or the machine was busy with other work",
    );
  }
  if (silence.ms > 0.3 * latencyMs && silence.ms > 4 * LEAST_SERVER_MS) {
    sentences.push(`for ${rounded(silence.ms)} ms nothing began or ended in the server`);
  }
  return sentences;
}

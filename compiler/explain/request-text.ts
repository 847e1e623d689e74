/** Formats an explained request as text for a terminal. */
import {
  explainedTable,
  levelText,
  percent,
  rounded,
  short,
  wrapped,
} from "stratagem-runtime/internal/describe/text";
import type { ExplainedRequest, Verdict } from "./explained-request.ts";
import type { ExplainedRun } from "./explained-run.ts";
import { circumstances, nameOf, type Reason, runTime } from "./reasons.ts";
import { labelOf, STEPS } from "./steps.ts";

/** Returns the first sentence: the outcome and the longest step. */
export function headline(explained: ExplainedRequest, reasons: readonly Reason[]): string {
  const { verdict, latencyMs, sloMs, request } = explained;
  const took = `${rounded(latencyMs)} ms with an SLO of ${short(sloMs)} ms`;
  const [first] = reasons;
  const most =
    first === undefined ? "" : `; ${percent(first.ms / latencyMs)} of it ${PLACES[first.step]}`;
  const why = request.error === null ? "" : `, ${request.error}`;
  return `${VERDICTS[verdict]}: ${took}${why}${most}`;
}

const VERDICTS: Readonly<Record<Verdict, string>> = {
  "in time": "in time",
  late: "late",
  dropped: "dropped",
  failed: "failed",
  gone: "its client disconnected before the answer",
};

const PLACES: Readonly<Record<Reason["step"], string>> = {
  "waiting for the server": "before the server noticed it",
  reading: "until it was read",
  queue: "in the queue",
  "handing over": "between queue and worker",
  compute: "computing",
  "to the worker and back": "between server and worker",
  answering: "after its last batch",
  unattributed: "not attributed by the log",
};

export function requestText(explained: ExplainedRequest, reasons: readonly Reason[]): string {
  const { request, decision, runs } = explained;
  const { id, timeMs, model, rows, variant, kind } = request;
  const whose = kind === null ? "" : `, class ${kind}`;
  const lines = [
    `request ${id}, ${new Date(timeMs).toISOString()}: ${rows} x ${model}${whose}` +
      (variant === null ? "" : `, answered by ${variant}`),
    wrapped(headline(explained, reasons)),
    "",
    stepTable(explained),
    "",
    "reasons",
    ...reasons.map(({ text }) => item(text)),
    ...circumstances(explained).map(item),
  ];
  if (runs.length > 0) lines.push("", "decisions", ...runs.map((run) => item(runText(run))));
  if (decision !== null) lines.push("", decision.report.text);
  return lines.join("\n");
}

/** Formats a wrapped list item. */
export function item(text: string): string {
  return wrapped(text, 98)
    .split("\n")
    .map((line, index) => `${index === 0 ? "-" : " "} ${line}`)
    .join("\n");
}

function stepTable({ steps, latencyMs }: ExplainedRequest): string {
  const shown = STEPS.filter((name) => name !== "unattributed" || steps.unattributed >= 0.001);
  return explainedTable([
    ["step", "ms", "share"],
    ...shown.map((name) => [labelOf(name), rounded(steps[name]), percent(steps[name] / latencyMs)]),
    ["total", rounded(latencyMs), ""],
  ]);
}

function runText(run: ExplainedRun): string {
  const { worker, level, levelQps, queued, slackMs, pace, places, doneRows, waitMs } = run;
  const at = pace === 1 ? "" : ` at pace ${short(pace)}`;
  const on = worker === null ? "" : `, on worker ${worker}${at}`;
  const by =
    level === null
      ? ""
      : levelQps === null
        ? `, by level ${level}, which this bundle lacks: it was solved in service, or ` +
          `belongs to another bundle`
        : `, by level ${levelText({ loadQps: levelQps, pace: run.levelPace })}`;
  const among = places === null ? "" : `, on workers ${places.join(", ")}`;
  const after = doneRows === null || doneRows === 0 ? "" : ` after ${doneRows} rows were done`;
  const state =
    queued === null || slackMs === null
      ? ""
      : `; queue of ${queued}, the first with ${rounded(slackMs)} ms left`;
  const waited = waitMs === null ? "" : `; it waited ${rounded(waitMs)} ms`;
  const rule = run.rule === null ? "" : `; ${run.rule}`;
  const decided = `${nameOf(run)}${on}${among}${after}${by}${state}${rule}${waited}`;
  return `${decided}; it took ${runTime(run)}`;
}

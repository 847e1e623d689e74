/** What was noted of a request, from the process that accepted it to the one that logs decisions. */
import type { BatchRun } from "../requests/batch-run.ts";
import type { RequestRecord } from "../telemetry/request-record.ts";
import { KINDS, textFrame, textOf } from "./frames.ts";

/** @param offsetMs to be added to the record's times for the clock that all processes share. */
export function recordFrame(record: RequestRecord, offsetMs: number): Buffer {
  return textFrame(KINDS.record, JSON.stringify(moved(record, offsetMs)));
}

/** The same by the clock of this process. @param offsetMs of it to the shared one. */
export function readRecord(frame: Buffer, offsetMs: number): RequestRecord {
  const told: RequestRecord = JSON.parse(textOf(frame));
  return moved(known(told), -offsetMs);
}

/** JSON knows no NaN. */
function known(told: RequestRecord): RequestRecord {
  return {
    ...told,
    sloMs: told.sloMs ?? Number.NaN,
    readMs: told.readMs ?? Number.NaN,
    failedMs: told.failedMs ?? Number.NaN,
    queueMs: told.queueMs ?? Number.NaN,
    computeMs: told.computeMs ?? Number.NaN,
    accuracy: told.accuracy ?? Number.NaN,
    runs: told.runs.map((run) => ({
      ...run,
      endMs: run.endMs ?? Number.NaN,
      wallMs: run.wallMs ?? Number.NaN,
      slackMs: run.slackMs ?? Number.NaN,
    })),
  };
}

function moved(record: RequestRecord, byMs: number): RequestRecord {
  const { arrivalMs, endMs, readMs, failedMs, runs } = record;
  return {
    ...record,
    arrivalMs: arrivalMs + byMs,
    endMs: endMs + byMs,
    readMs: readMs + byMs,
    failedMs: failedMs + byMs,
    runs: runs.map((run) => movedRun(run, byMs)),
  };
}

function movedRun(run: BatchRun, byMs: number): BatchRun {
  const { startMs, handedMs, endMs } = run;
  return { ...run, startMs: startMs + byMs, handedMs: handedMs + byMs, endMs: endMs + byMs };
}

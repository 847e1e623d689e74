/** What was noted of a request, from where it was accepted to where decisions are logged. */
import type { BatchRun } from "../requests/batch-run.ts";
import type { RequestRecord } from "../telemetry/request-record.ts";
import { KINDS, textFrame, textOf } from "./frames.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Told = Omit<Writable<RequestRecord>, "runs"> & { runs: Writable<BatchRun>[] };

/** @param offsetMs to be added to the record's times for the clock that all processes share. */
export function recordFrame(record: RequestRecord, offsetMs: number): Buffer {
  return textFrame(KINDS.record, `[${offsetMs},${JSON.stringify(record)}]`);
}

/** The same by the clock of this process. @param ownOffsetMs of it to the shared one. */
export function readRecord(frame: Buffer, ownOffsetMs: number): RequestRecord {
  const [offsetMs, told]: [number, Told] = JSON.parse(textOf(frame));
  const byMs = offsetMs - ownOffsetMs;
  // JSON knows no NaN.
  told.sloMs ??= Number.NaN;
  told.queueMs ??= Number.NaN;
  told.computeMs ??= Number.NaN;
  told.accuracy ??= Number.NaN;
  told.readMs = (told.readMs ?? Number.NaN) + byMs;
  told.failedMs = (told.failedMs ?? Number.NaN) + byMs;
  told.arrivalMs += byMs;
  told.endMs += byMs;
  for (const run of told.runs) {
    run.startMs += byMs;
    run.handedMs += byMs;
    run.endMs = (run.endMs ?? Number.NaN) + byMs;
    run.wallMs ??= Number.NaN;
    run.slackMs ??= Number.NaN;
  }
  return told;
}

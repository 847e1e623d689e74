/**
 * What became of a request once its answer was written, or where it was refused before: counted
 * where the model is.
 *
 *     8 u32 what, u32 model, u32 reason, u32 class or bucket, 24 u32 rows, 32 f64 time of the
 *     request or elements filled in, 40 f64 when it was over or of how many elements, 48 f64 queue,
 *     input, compute and output time; in ms, of the clock of all.
 */
import type { FailureReason } from "../requests/request.ts";
import type { Padding, RequestTimes } from "../requests/request-metrics.ts";
import { reasonAt, reasonIndex } from "./answer-frame.ts";
import { HEAD_BYTES, headed, KINDS } from "./frames.ts";

const BYTES = 80;
const WHATS = ["answered", "failed", "turned away", "padded"] as const;

export type Report = { readonly model: number } & (
  | { readonly what: "answered"; readonly times: RequestTimes; readonly atMs: number }
  | {
      readonly what: "failed";
      readonly reason: FailureReason | undefined;
      readonly requestMs: number;
      readonly atMs: number;
    }
  | { readonly what: "turned away"; readonly rows: number; readonly sloClass: number }
  | ({ readonly what: "padded" } & Padding)
);

export function reportFrame(report: Report): Buffer {
  const frame = headed(KINDS.report, BYTES, 0);
  frame.writeUInt32LE(WHATS.indexOf(report.what), HEAD_BYTES);
  frame.writeUInt32LE(report.model, 12);
  if (report.what === "turned away") {
    frame.writeUInt32LE(report.sloClass, 20);
    frame.writeUInt32LE(report.rows, 24);
    return frame;
  }
  if (report.what === "padded") {
    frame.writeUInt32LE(report.bucket, 20);
    frame.writeDoubleLE(report.filled, 32);
    frame.writeDoubleLE(report.elements, 40);
    return frame;
  }
  frame.writeDoubleLE(report.atMs, 40);
  if (report.what === "failed") {
    frame.writeUInt32LE(reasonIndex(report.reason), 16);
    frame.writeDoubleLE(report.requestMs, 32);
    return frame;
  }
  const { requestMs, queueMs, inputMs, inferMs, outputMs } = report.times;
  frame.writeDoubleLE(requestMs, 32);
  frame.writeDoubleLE(queueMs, 48);
  frame.writeDoubleLE(inputMs, 56);
  frame.writeDoubleLE(inferMs, 64);
  frame.writeDoubleLE(outputMs, 72);
  return frame;
}

export function readReport(frame: Buffer): Report {
  const what = WHATS[frame.readUInt32LE(HEAD_BYTES)] ?? "failed";
  const model = frame.readUInt32LE(12);
  if (what === "turned away") {
    return { what, model, sloClass: frame.readUInt32LE(20), rows: frame.readUInt32LE(24) };
  }
  if (what === "padded") {
    const [filled, elements] = [frame.readDoubleLE(32), frame.readDoubleLE(40)];
    return { what, model, bucket: frame.readUInt32LE(20), filled, elements };
  }
  const [requestMs, atMs] = [frame.readDoubleLE(32), frame.readDoubleLE(40)];
  if (what === "failed") {
    return { what, model, reason: reasonAt(frame.readUInt32LE(16)), requestMs, atMs };
  }
  const times = {
    requestMs,
    queueMs: frame.readDoubleLE(48),
    inputMs: frame.readDoubleLE(56),
    inferMs: frame.readDoubleLE(64),
    outputMs: frame.readDoubleLE(72),
  };
  return { what, model, times, atMs };
}

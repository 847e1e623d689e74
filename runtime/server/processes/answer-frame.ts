/**
 * What became of an inference request, on its way back from the process that decides.
 *
 *     answer   8 u32 id, u32 outputs, u32 rows of which the variant is told, u32 bytes of the name,
 *     24 u32 bytes of its batches as JSON, 32 f64 queue, input and compute time, 56 f64 when it was
 *     done, 64 f64 accuracy; for each output u32 bytes, u32 rank, u32 dimensions; for each row u32
 *     variant; the name, the batches, the outputs. Times in ms, of the clock that all share.
 *     failure  8 u32 id, u32 reason; the message
 */
import type { Answer, Failure, FailureReason, OutputTensor } from "../requests/request.ts";
import { HEAD_BYTES, headed, KINDS } from "./frames.ts";

/** What is told of the batches of an answer, where logs or traces want it. */
type ToldRuns = Pick<Answer, "runs" | "waitsMs" | "bundleSha256">;

const FIXED_BYTES = 72;
const NO_RUNS = "";

/** In the order of their numbers in frames. */
const REASONS: readonly FailureReason[] = [
  "queue-full",
  "shed",
  "late",
  "timeout",
  "no-worker",
  "worker-lost",
  "inference",
  "cancelled",
  "closed",
  "refused",
  "sequence-not-open",
  "sequences-full",
];

/** @param runs of the answer as JSON; empty where nobody notes them. */
export function answerFrame(id: number, answer: Answer, runs = NO_RUNS): Uint8Array[] {
  const { outputs, variantByRow = [], answerer } = answer;
  const nameBytes = Buffer.byteLength(answerer.variant);
  const runBytes = runs === NO_RUNS ? 0 : Buffer.byteLength(runs);
  const rowsAt = FIXED_BYTES + shapeBytes(outputs);
  const nameAt = rowsAt + 4 * variantByRow.length;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const output of outputs) {
    for (const part of output.parts) {
      parts.push(part);
      bytes += part.length;
    }
  }
  const head = headed(KINDS.answer, nameAt + nameBytes + runBytes, bytes);
  head.writeUInt32LE(id, HEAD_BYTES);
  head.writeUInt32LE(outputs.length, 12);
  head.writeUInt32LE(variantByRow.length, 16);
  head.writeUInt32LE(nameBytes, 20);
  head.writeUInt32LE(runBytes, 24);
  head.writeDoubleLE(answer.queueMs, 32);
  head.writeDoubleLE(answer.inputMs, 40);
  head.writeDoubleLE(answer.inferMs, 48);
  head.writeDoubleLE(answer.doneMs, 56);
  head.writeDoubleLE(answerer.accuracy, 64);
  writeShapes(head, outputs);
  for (const [row, variant] of variantByRow.entries())
    head.writeUInt32LE(variant, rowsAt + 4 * row);
  head.write(answerer.variant, nameAt);
  if (runBytes > 0) head.write(runs, nameAt + nameBytes);
  parts.unshift(head);
  return parts;
}

/**
 * @param isByRow whether the model tells the variant of each row.
 * @returns an answer whose outputs are views of the frame.
 */
export function readAnswer(frame: Buffer, isByRow: boolean): Answer {
  const count = frame.readUInt32LE(12);
  const shapes: { readonly bytes: number; readonly shape: readonly number[] }[] = [];
  let at = FIXED_BYTES;
  for (let output = 0; output < count; output++) {
    const bytes = frame.readUInt32LE(at);
    const rank = frame.readUInt32LE(at + 4);
    at += 8;
    shapes.push({ bytes, shape: numbersAt(frame, at, rank) });
    at += 4 * rank;
  }
  const rows = frame.readUInt32LE(16);
  const variantByRow = numbersAt(frame, at, rows);
  at += 4 * rows;
  const nameEnd = at + frame.readUInt32LE(20);
  const variant = frame.toString("utf8", at, nameEnd);
  at = nameEnd + frame.readUInt32LE(24);
  const told: ToldRuns = at === nameEnd ? {} : JSON.parse(frame.toString("utf8", nameEnd, at));
  const outputs = shapes.map(({ bytes, shape }) => {
    at += bytes;
    return { shape, parts: [frame.subarray(at - bytes, at)] };
  });
  return {
    kind: "answered",
    outputs,
    answerer: { variant, accuracy: frame.readDoubleLE(64) },
    queueMs: frame.readDoubleLE(32),
    inputMs: frame.readDoubleLE(40),
    inferMs: frame.readDoubleLE(48),
    doneMs: frame.readDoubleLE(56),
    ...(isByRow ? { variantByRow } : {}),
    ...told,
  };
}

export function failureFrame(id: number, { reason, message }: Failure): Buffer {
  const frame = headed(KINDS.failure, 16 + Buffer.byteLength(message), 0);
  frame.writeUInt32LE(id, HEAD_BYTES);
  frame.writeUInt32LE(reasonIndex(reason), 12);
  frame.write(message, 16);
  return frame;
}

export function readFailure(frame: Buffer): Failure {
  const reason = reasonAt(frame.readUInt32LE(12)) ?? "inference";
  return { kind: "failed", reason, message: frame.toString("utf8", 16) };
}

export function reasonIndex(reason: FailureReason | undefined): number {
  return reason === undefined ? REASONS.length : REASONS.indexOf(reason);
}

export function reasonAt(index: number): FailureReason | undefined {
  return REASONS[index];
}

function shapeBytes(outputs: readonly OutputTensor[]): number {
  return outputs.reduce((sum, { shape }) => sum + 8 + 4 * shape.length, 0);
}

function writeShapes(head: Buffer, outputs: readonly OutputTensor[]): void {
  let at = FIXED_BYTES;
  for (const { shape, parts } of outputs) {
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    head.writeUInt32LE(bytes, at);
    head.writeUInt32LE(shape.length, at + 4);
    at += 8;
    for (const size of shape) {
      head.writeUInt32LE(size, at);
      at += 4;
    }
  }
}

function numbersAt(frame: Buffer, at: number, count: number): number[] {
  const numbers: number[] = [];
  for (let index = 0; index < count; index++) numbers.push(frame.readUInt32LE(at + 4 * index));
  return numbers;
}

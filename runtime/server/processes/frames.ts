/**
 * The kinds of frames between the process that decides and those that accept, and the short ones.
 * Both ends are the same program on one machine, so nothing of them is checked.
 */

export const KINDS = {
  /** An inference request, by `request-frame.ts`. */
  request: 1,
  /** Its client is gone: `u32 id` at 8. */
  cancel: 2,
  /** What became of requests, by `report-frame.ts`. */
  report: 3,
  /** An answer, by `answer-frame.ts`. */
  answer: 4,
  /** Why there is none, by `answer-frame.ts`. */
  failure: 5,
  /** A document of JSON, by `told.ts`. */
  told: 6,
  /** A line of the access log. */
  line: 7,
  /** What was noted of a request, by `record-frame.ts`. */
  record: 8,
} as const;

/** Length, kind, and what there is room for up to a multiple of 4. */
export const HEAD_BYTES = 8;

export function kindOf(frame: Buffer): number {
  return frame.readUInt8(4);
}

/** The request that a frame is about. */
export function idOf(frame: Buffer): number {
  return frame.readUInt32LE(HEAD_BYTES);
}

/** @param headBytes of the frame in this buffer. @param bytes that follow in others. */
export function headed(kind: number, headBytes: number, bytes: number): Buffer {
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32LE(headBytes - 4 + bytes, 0);
  head.writeUInt32LE(kind, 4);
  return head;
}

export function cancelFrame(id: number): Buffer {
  const frame = headed(KINDS.cancel, HEAD_BYTES + 4, 0);
  frame.writeUInt32LE(id, HEAD_BYTES);
  return frame;
}

export function textFrame(kind: (typeof KINDS)["told" | "line" | "record"], text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const frame = headed(kind, HEAD_BYTES + bytes, 0);
  frame.write(text, HEAD_BYTES);
  return frame;
}

export function textOf(frame: Buffer): string {
  return frame.toString("utf8", HEAD_BYTES);
}

/**
 * The channel between the server and a worker: its frames, and the end of the server. Both ends
 * run on one machine, so numbers are in its byte order.
 *
 *     header   u32 kind, u32 payload bytes
 *     run u32 variant, u32 rows, u32 cores, u32 tensor count, u32 bytes of each tensor; the tensors
 *     result f64 wall ms, f64 cpu ms, u32 cores, u32 tensor count, for each u32 bytes, u32 rank,
 *     u32 dimensions; the tensors
 *     others   UTF-8 text, JSON for `load`, `assign`, `loading`, `refusedRows` and `facts`
 *
 * Every tensor starts at a multiple of 8 from the start of the payload, so that a receiver can use
 * it in place.
 */

import type { Socket } from "node:net";
import { assert } from "../../core/assert.ts";
import type { Batch, BatchResult } from "../models/executor.ts";

export const FRAME_KINDS = {
  load: 1,
  ready: 2,
  failed: 3,
  run: 4,
  result: 5,
  refused: 6,
  assign: 7,
  assigned: 8,
  ping: 9,
  pong: 10,
  loading: 11,
  refusedRows: 12,
  facts: 13,
} as const;

export const HEADER_BYTES = 8;
/** Time of a run, with which a result starts. */
export const START_BYTES = 8;
/** Far above a useful batch, and far below what an ArrayBuffer or a u32 can hold. */
export const MAX_PAYLOAD_BYTES = 2 ** 30;

/** Variant, rows, cores, bucket and number of inputs of a run; their sizes follow. */
const RUN_HEAD_BYTES = 20;
const ALIGNMENT = 8;
const PADDING = new Uint8Array(ALIGNMENT);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface Frame {
  readonly kind: number;
  /** Starts at a multiple of 8 in its buffer. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** A batch as it arrives at the worker: each input in one piece. */
export interface ReceivedBatch {
  readonly variant: number;
  readonly rows: number;
  /** To run on. */
  readonly cores: number;
  /** Which of the sizes its rows have. */
  readonly bucket: number;
  readonly inputs: readonly Uint8Array<ArrayBuffer>[];
}

/** Payload of a `refusedRows` frame. */
export interface RefusedRows {
  /** Row indices in the batch. */
  readonly rows: readonly number[];
  readonly message: string;
}

/**
 * @throws RangeError if the payload is larger than a frame may be, which a sender must not let
 * happen to the other end.
 */
function frame(kind: number, payload: readonly Uint8Array[]): Uint8Array[] {
  let payloadBytes = 0;
  for (const chunk of payload) payloadBytes += chunk.length;
  if (payloadBytes > MAX_PAYLOAD_BYTES) {
    throw new RangeError(`${payloadBytes} bytes in one batch; at most ${MAX_PAYLOAD_BYTES} fit`);
  }
  const header = new Uint32Array([kind, payloadBytes]);
  return [new Uint8Array(header.buffer), ...payload];
}

/** Kind and payload size of a header. @throws Error if no frame starts so. */
export function decodeHeader(header: Uint8Array): { kind: number; payloadBytes: number } {
  const view = new DataView(header.buffer, header.byteOffset, HEADER_BYTES);
  const kind = view.getUint32(0, LITTLE_ENDIAN);
  const payloadBytes = view.getUint32(4, LITTLE_ENDIAN);
  if (kind < FRAME_KINDS.load || kind > FRAME_KINDS.facts || payloadBytes > MAX_PAYLOAD_BYTES) {
    throw new Error(`no frame has kind ${kind} and ${payloadBytes} bytes`);
  }
  return { kind, payloadBytes };
}

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

export function textFrame(kind: number, text: string): Uint8Array[] {
  return frame(kind, [encoder.encode(text)]);
}

export function decodeText(payload: Uint8Array): string {
  return decoder.decode(payload);
}

/**
 * Returns the chunks of a run frame; those of the requests are not copied.
 * @throws RangeError if the batch does not fit a frame.
 */
export function runFrame(batch: Batch, cores: number): Uint8Array[] {
  const counts = new Uint32Array(paddedLength(RUN_HEAD_BYTES + 4 * batch.inputs.length) / 4);
  counts[0] = batch.variant;
  counts[1] = batch.rows;
  counts[2] = cores;
  counts[3] = batch.bucket ?? 0;
  counts[4] = batch.inputs.length;
  const payload: Uint8Array[] = [new Uint8Array(counts.buffer)];
  for (const [index, parts] of batch.inputs.entries()) {
    let bytes = 0;
    for (const part of parts) {
      bytes += part.length;
      payload.push(part);
    }
    counts[RUN_HEAD_BYTES / 4 + index] = bytes;
    pushPadding(payload, bytes);
  }
  return frame(FRAME_KINDS.run, payload);
}

/** The batch in the payload of a run frame, its tensors views into that payload. */
export function decodeRun(payload: Uint8Array<ArrayBuffer>): ReceivedBatch {
  const words = wordsOf(payload, 0);
  const [variant, rows, cores] = [wordAt(words, 0), wordAt(words, 1), wordAt(words, 2)];
  const [bucket, inputCount] = [wordAt(words, 3), wordAt(words, 4)];
  const inputs: Uint8Array<ArrayBuffer>[] = [];
  let offset = paddedLength(RUN_HEAD_BYTES + 4 * inputCount);
  for (let index = 0; index < inputCount; index++) {
    const bytes = wordAt(words, RUN_HEAD_BYTES / 4 + index);
    inputs.push(payload.subarray(offset, offset + bytes));
    offset += paddedLength(bytes);
  }
  assert(offset === payload.length, "a run frame ends with its last tensor");
  return { variant, rows, cores, bucket, inputs };
}

/** The chunks of a result frame. @throws RangeError if the outputs do not fit a frame. */
export function resultFrame(result: BatchResult): Uint8Array[] {
  const words: number[] = [result.cores, result.outputs.length];
  const tensors: Uint8Array[] = [];
  for (const { shape, bytes } of result.outputs) {
    words.push(bytes.length, shape.length, ...shape);
    tensors.push(bytes);
    pushPadding(tensors, bytes.length);
  }
  const head = new Uint8Array(paddedLength(16 + 4 * words.length));
  new Float64Array(head.buffer, 0, 2).set([result.wallMs, result.cpuMs]);
  new Uint32Array(head.buffer, 16, words.length).set(words);
  return frame(FRAME_KINDS.result, [head, ...tensors]);
}

/** Time of the run, from the first bytes of the payload of a result frame, ms. */
export function ranMsOf(start: Uint8Array<ArrayBuffer>): number {
  const [wallMs = NaN] = new Float64Array(start.buffer, start.byteOffset, 1);
  return wallMs;
}

/** The result in the payload of a result frame, its tensors views into that payload. */
export function decodeResult(payload: Uint8Array<ArrayBuffer>): BatchResult {
  const [wallMs = NaN, cpuMs = NaN] = new Float64Array(payload.buffer, payload.byteOffset, 2);
  const words = wordsOf(payload, 16);
  const described: { bytes: number; shape: number[] }[] = [];
  let position = 2;
  for (let left = wordAt(words, 1); left > 0; left--) {
    const shapeAt = position + 2;
    position = shapeAt + wordAt(words, position + 1);
    const shape = Array.from(words.subarray(shapeAt, position));
    described.push({ bytes: wordAt(words, shapeAt - 2), shape });
  }
  let offset = paddedLength(16 + 4 * position);
  const outputs = described.map(({ bytes, shape }) => {
    const tensor = payload.subarray(offset, offset + bytes);
    offset += paddedLength(bytes);
    return { shape, bytes: tensor };
  });
  assert(offset === payload.length, "a result frame ends with its last tensor");
  return { outputs, wallMs, cpuMs, cores: wordAt(words, 0) };
}

function paddedLength(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

function pushPadding(chunks: Uint8Array[], bytes: number): void {
  const padding = paddedLength(bytes) - bytes;
  if (padding > 0) chunks.push(PADDING.subarray(0, padding));
}

function wordsOf(payload: Uint8Array<ArrayBuffer>, offset: number): Uint32Array {
  const words = Math.floor((payload.length - offset) / 4);
  assert(words > 0, "a frame holds the counts of its tensors");
  return new Uint32Array(payload.buffer, payload.byteOffset + offset, words);
}

function wordAt(words: Uint32Array, index: number): number {
  const word = words[index];
  assert(word !== undefined, "a frame holds the counts of its tensors");
  return word;
}

/** @param start first bytes of the payload: `START_BYTES`, or all if there are fewer. */
export type OnHead = (kind: number, start: Uint8Array<ArrayBuffer>) => void;

export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  readonly #onHead: OnHead;
  readonly #header = new Uint8Array(HEADER_BYTES);
  #headerFilled = 0;
  #kind = 0;
  /** Memory of one frame alone: its receiver may keep it. */
  #payload = new Uint8Array(0);
  #payloadFilled = 0;

  /** @param onHead called when a frame begins, before `onFrame` and however long its rest takes. */
  constructor(onFrame: (frame: Frame) => void, onHead: OnHead = () => {}) {
    this.#onFrame = onFrame;
    this.#onHead = onHead;
  }

  /** Takes the next bytes of the stream, which are copied. @throws Error if they are not frames. */
  push(chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length) {
      offset += this.#headerFilled < HEADER_BYTES ? this.#fillHeader(chunk, offset) : 0;
      if (this.#headerFilled < HEADER_BYTES) return;
      offset += this.#fillPayload(chunk, offset);
      if (this.#payloadFilled < this.#payload.length) return;
      this.#headerFilled = 0;
      this.#onFrame({ kind: this.#kind, payload: this.#payload });
    }
  }

  #fillHeader(chunk: Uint8Array, offset: number): number {
    const part = chunk.subarray(offset, offset + HEADER_BYTES - this.#headerFilled);
    this.#header.set(part, this.#headerFilled);
    this.#headerFilled += part.length;
    if (this.#headerFilled === HEADER_BYTES) {
      const { kind, payloadBytes } = decodeHeader(this.#header);
      this.#kind = kind;
      this.#payload = new Uint8Array(payloadBytes);
      this.#payloadFilled = 0;
      if (payloadBytes === 0) this.#onHead(kind, this.#payload);
    }
    return part.length;
  }

  #fillPayload(chunk: Uint8Array, offset: number): number {
    const part = chunk.subarray(offset, offset + this.#payload.length - this.#payloadFilled);
    this.#payload.set(part, this.#payloadFilled);
    const startBytes = Math.min(START_BYTES, this.#payload.length);
    const isStarted = this.#payloadFilled >= startBytes;
    this.#payloadFilled += part.length;
    if (!isStarted && this.#payloadFilled >= startBytes) {
      this.#onHead(this.#kind, this.#payload.subarray(0, startBytes));
    }
    return part.length;
  }
}

interface ChannelListener {
  /** A frame of that kind begins, with these bytes; the rest may take a while. */
  readonly onHead: OnHead;
  readonly onFrame: (frame: Frame) => void;
  /** Called for bytes that are no frame, or a frame that was not expected; more may follow. */
  readonly onMistake: (reason: string) => void;
  /** The other end has gone. */
  readonly onClose: () => void;
}

export class WorkerChannel {
  readonly #socket: Socket;

  constructor(socket: Socket, { onHead, onFrame, onMistake, onClose }: ChannelListener) {
    this.#socket = socket;
    const reader = new FrameReader(onFrame, onHead);
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        onMistake(error instanceof Error ? error.message : String(error));
      }
    });
    // The other end has gone, which its exit explains better.
    socket.on("error", () => {});
    socket.on("close", onClose);
  }

  sendText(kind: number, text: string): void {
    this.send(textFrame(kind, text));
  }

  /** Sends all chunks of a frame in one system call, without copying them. */
  send(chunks: readonly Uint8Array[]): void {
    const [only] = chunks;
    if (chunks.length === 1 && only !== undefined) {
      this.#socket.write(only);
      return;
    }
    this.#socket.cork();
    for (const chunk of chunks) this.#socket.write(chunk);
    this.#socket.uncork();
  }

  /** Closes the channel in both directions. */
  close(): void {
    this.#socket.destroy();
  }
}

/** Larger chunks cost less to write by themselves than to copy. */
const MAX_SMALL_BYTES = 1 << 15;
/** Total of small chunks of one frame that are copied; the rest is written as it is. */
const CAPACITY_BYTES = 1 << 19;

/**
 * Writing a chunk to a Node stream takes several times as long as copying a few KB, so small chunks
 * are copied together. The copies are in reused memory, so a frame must be sent before the next is
 * gathered.
 */
export class GatheredChunks {
  #memory: Uint8Array | undefined;

  /** @returns the same bytes in the same order, with consecutive small chunks merged. */
  gather(chunks: readonly Uint8Array[]): readonly Uint8Array[] {
    this.#memory ??= new Uint8Array(new ArrayBuffer(CAPACITY_BYTES));
    const memory = this.#memory;
    const gathered: Uint8Array[] = [];
    let begin = 0;
    let end = 0;
    for (const chunk of chunks) {
      if (chunk.length <= MAX_SMALL_BYTES && end + chunk.length <= CAPACITY_BYTES) {
        memory.set(chunk, end);
        end += chunk.length;
        continue;
      }
      if (end > begin) gathered.push(memory.subarray(begin, end));
      begin = end;
      gathered.push(chunk);
    }
    if (end > begin) gathered.push(memory.subarray(begin, end));
    return gathered;
  }
}

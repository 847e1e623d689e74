/**
 * An inference request on its way to the process that decides.
 *
 *     8 u32 id, u32 model, u32 rows, i32 variant (−1 none, −2 the same for all), u32 class,
 *     28 u32 whether its priority is high, 32 f64 arrival, 40 f64 lag, 48 f64 timeout (NaN: none),
 *     56 u32 inputs, u32 bytes of what it says of its sequence as JSON (0: none), 64 u32 bytes of
 *     who asks as JSON (0: nobody can tell), for each input u32 bytes; the sequence, who asks, the
 *     inputs. Times in ms, those of arrival of the clock that all processes share.
 */
import type { Asker } from "../requests/asker.ts";
import type { AskedRequest } from "../requests/endpoint.ts";
import type { SequenceStep } from "../requests/sequence-step.ts";
import type { VariantWish } from "../requests/variant-wish.ts";
import { HEAD_BYTES, headed, KINDS } from "./frames.ts";

const NO_VARIANT = -1;
const SAME_VARIANT = -2;
const INPUTS_AT = 56;
const SEQUENCE_AT = 60;
const ASKER_AT = 64;
const FIXED_BYTES = 68;

export interface FramedRequest extends AskedRequest {
  readonly id: number;
  readonly model: number;
}

export function requestFrame(request: FramedRequest): Uint8Array[] {
  const { inputs, variant, sequence, asker } = request;
  let bytes = 0;
  for (const { length } of inputs) bytes += length;
  const told = sequence === undefined ? undefined : Buffer.from(JSON.stringify(sequence));
  const asks = asker === undefined ? undefined : Buffer.from(JSON.stringify(asker));
  const toldAt = FIXED_BYTES + 4 * inputs.length;
  const askerAt = toldAt + (told?.length ?? 0);
  const head = headed(KINDS.request, askerAt + (asks?.length ?? 0), bytes);
  head.writeUInt32LE(request.id, HEAD_BYTES);
  head.writeUInt32LE(request.model, 12);
  head.writeUInt32LE(request.rows, 16);
  head.writeInt32LE(variant === undefined ? NO_VARIANT : indexOf(variant), 20);
  head.writeUInt32LE(request.sloClass, 24);
  head.writeUInt32LE(request.isHigh ? 1 : 0, 28);
  head.writeDoubleLE(request.arrivalMs, 32);
  head.writeDoubleLE(request.lagMs, 40);
  head.writeDoubleLE(request.timeoutMs ?? Number.NaN, 48);
  head.writeUInt32LE(inputs.length, INPUTS_AT);
  head.writeUInt32LE(told?.length ?? 0, SEQUENCE_AT);
  head.writeUInt32LE(asks?.length ?? 0, ASKER_AT);
  if (told !== undefined) head.set(told, toldAt);
  if (asks !== undefined) head.set(asks, askerAt);
  for (let index = 0; index < inputs.length; index++) {
    head.writeUInt32LE(inputs[index]?.length ?? 0, FIXED_BYTES + 4 * index);
  }
  return [head, ...inputs];
}

/** @returns a request whose inputs are views of the frame. */
export function readRequest(frame: Buffer): FramedRequest {
  const timeoutMs = frame.readDoubleLE(48);
  const count = frame.readUInt32LE(INPUTS_AT);
  const inputs: Uint8Array[] = [];
  const sequenceAt = FIXED_BYTES + 4 * count;
  const sequenceEnd = sequenceAt + frame.readUInt32LE(SEQUENCE_AT);
  const askerEnd = sequenceEnd + frame.readUInt32LE(ASKER_AT);
  let at = askerEnd;
  for (let index = 0; index < count; index++) {
    const end = at + frame.readUInt32LE(FIXED_BYTES + 4 * index);
    inputs.push(frame.subarray(at, end));
    at = end;
  }
  return {
    id: frame.readUInt32LE(HEAD_BYTES),
    model: frame.readUInt32LE(12),
    rows: frame.readUInt32LE(16),
    variant: wishOf(frame.readInt32LE(20)),
    sloClass: frame.readUInt32LE(24),
    isHigh: frame.readUInt32LE(28) === 1,
    arrivalMs: frame.readDoubleLE(32),
    lagMs: frame.readDoubleLE(40),
    timeoutMs: Number.isNaN(timeoutMs) ? undefined : timeoutMs,
    sequence: sequenceIn(frame, sequenceAt, sequenceEnd),
    asker: askerIn(frame, sequenceEnd, askerEnd),
    inputs,
  };
}

function sequenceIn(frame: Buffer, begin: number, end: number): SequenceStep | undefined {
  return begin === end ? undefined : JSON.parse(frame.toString("utf8", begin, end));
}

function askerIn(frame: Buffer, begin: number, end: number): Asker | undefined {
  return begin === end ? undefined : JSON.parse(frame.toString("utf8", begin, end));
}

function indexOf(variant: VariantWish): number {
  return variant === "same" ? SAME_VARIANT : variant;
}

function wishOf(index: number): VariantWish | undefined {
  if (index === NO_VARIANT) return undefined;
  return index === SAME_VARIANT ? "same" : index;
}

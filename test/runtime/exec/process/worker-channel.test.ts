import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeHeader,
  decodeResult,
  decodeRun,
  decodeText,
  FRAME_KINDS,
  type Frame,
  FrameReader,
  HEADER_BYTES,
  MAX_PAYLOAD_BYTES,
  resultFrame,
  runFrame,
  textFrame,
} from "../../../../runtime/exec/process/worker-channel.ts";

const bytes = fc.uint8Array({ maxLength: 40 });
const batch = fc.record({
  variant: fc.nat(),
  rows: fc.nat(),
  inputs: fc.array(fc.array(bytes, { maxLength: 3 }), { maxLength: 3 }),
});
const result = fc.record({
  wallMs: fc.double({ noNaN: true }),
  cpuMs: fc.double({ noNaN: true }),
  cores: fc.nat(),
  outputs: fc.array(fc.record({ shape: fc.array(fc.nat(), { maxLength: 4 }), bytes }), {
    maxLength: 3,
  }),
});

/** What a reader makes of frames that arrive in pieces of at most `pieceBytes`. */
function received(chunks: readonly Uint8Array[], pieceBytes: number): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader((frame) => frames.push(frame));
  const stream = Buffer.concat(chunks);
  for (let offset = 0; offset < stream.length; offset += pieceBytes) {
    reader.push(stream.subarray(offset, offset + pieceBytes));
  }
  return frames;
}

function only(frames: readonly Frame[], kind: number): Uint8Array<ArrayBuffer> {
  expect(frames.map((frame) => frame.kind)).toEqual([kind]);
  return frames[0]?.payload ?? new Uint8Array(0);
}

test("a batch arrives as it was sent, however the stream cuts it", () => {
  fc.assert(
    fc.property(batch, fc.nat(), fc.integer({ min: 1, max: 64 }), (sent, cores, pieceBytes) => {
      const payload = only(received(runFrame(sent, cores), pieceBytes), FRAME_KINDS.run);
      const got = decodeRun(payload);
      expect(got.variant).toBe(sent.variant);
      expect(got.rows).toBe(sent.rows);
      expect(got.cores).toBe(cores);
      expect(got.inputs.map((input) => [...input])).toEqual(
        sent.inputs.map((parts) => [...Buffer.concat(parts)]),
      );
      for (const input of got.inputs) expect(input.byteOffset % 8).toBe(0);
    }),
  );
});

test("a result arrives as it was sent, however the stream cuts it", () => {
  fc.assert(
    fc.property(result, fc.integer({ min: 1, max: 64 }), (sent, pieceBytes) => {
      const payload = only(received(resultFrame(sent), pieceBytes), FRAME_KINDS.result);
      expect(decodeResult(payload)).toEqual(sent);
    }),
  );
});

test("frames one after the other stay apart, empty ones too", () => {
  const sent = ["", "half", "", "ü"];
  const chunks = sent.flatMap((text) => textFrame(FRAME_KINDS.refused, text));
  for (const pieceBytes of [1, 3, HEADER_BYTES, 1000]) {
    const frames = received(chunks, pieceBytes);
    expect(frames.map(({ payload }) => decodeText(payload))).toEqual(sent);
  }
});

test("the bytes of a request are not copied into the frame", () => {
  const part = Uint8Array.of(1, 2, 3, 4);
  expect(runFrame({ variant: 0, rows: 1, inputs: [[part]] }, 1)).toContain(part);
});

test("what is no header is refused", () => {
  const header = (kind: number, size: number) =>
    new Uint8Array(new Uint32Array([kind, size]).buffer);
  expect(() => decodeHeader(header(99, 0))).toThrow("kind 99");
  expect(() => decodeHeader(header(FRAME_KINDS.run, MAX_PAYLOAD_BYTES + 1))).toThrow("bytes");
});

test("a batch larger than a frame is refused before it is sent", () => {
  const part = new Uint8Array(MAX_PAYLOAD_BYTES / 4);
  const inputs = [[part, part, part, part, Uint8Array.of(0)]];
  expect(() => runFrame({ variant: 0, rows: 1, inputs }, 1)).toThrow(RangeError);
});

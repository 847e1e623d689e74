/** What goes between the process that decides and those that accept, as bytes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  answerFrame,
  failureFrame,
  readAnswer,
  readFailure,
} from "../../../../runtime/server/processes/answer-frame.ts";
import { FrameSplitter } from "../../../../runtime/server/processes/frame-splitter.ts";
import { cancelFrame, idOf, KINDS, kindOf } from "../../../../runtime/server/processes/frames.ts";
import { readReport, reportFrame } from "../../../../runtime/server/processes/report-frame.ts";
import { readRequest, requestFrame } from "../../../../runtime/server/processes/request-frame.ts";

const bytes = fc.uint8Array({ maxLength: 40 });
const time = fc.double({ noNaN: true, min: -1e9, max: 1e9 });
const u32 = fc.nat({ max: 2 ** 32 - 1 });
const variant = fc.oneof(fc.constant(undefined), fc.constant("same" as const), fc.nat(1000));

test("a request comes as it was sent", () => {
  const request = fc.record({
    id: u32,
    model: u32,
    rows: fc.integer({ min: 1, max: 4096 }),
    inputs: fc.array(bytes, { maxLength: 5 }),
    variant,
    sloClass: fc.nat(9),
    isHigh: fc.boolean(),
    arrivalMs: time,
    lagMs: time,
    timeoutMs: fc.option(time, { nil: undefined }),
    sequence: fc.option(
      fc.record({
        id: fc.string(),
        client: fc.string({ unit: "grapheme" }),
        isStart: fc.boolean(),
        isEnd: fc.boolean(),
      }),
      { nil: undefined },
    ),
    asker: fc.option(fc.record({ id: fc.string(), client: fc.string({ unit: "grapheme" }) }), {
      nil: undefined,
    }),
  });
  fc.assert(
    fc.property(request, (sent) => {
      const came = readRequest(Buffer.concat(requestFrame(sent)));
      const inputs = came.inputs.map((input) => new Uint8Array(input));
      expect({ ...came, inputs }).toEqual(sent);
    }),
  );
});

test("an answer comes as it was sent, its parts as one", () => {
  const output = fc.record({
    shape: fc.array(fc.nat(5), { maxLength: 4 }),
    parts: fc.array(bytes, { maxLength: 3 }),
  });
  const answer = fc.record({
    outputs: fc.array(output, { maxLength: 4 }),
    answerer: fc.record({ variant: fc.string(), accuracy: time }),
    queueMs: time,
    inputMs: time,
    inferMs: time,
    doneMs: time,
    variantByRow: fc.array(fc.nat(100), { maxLength: 6 }),
  });
  fc.assert(
    fc.property(u32, answer, (id, told) => {
      const sent = { kind: "answered", ...told } as const;
      const frame = Buffer.concat(answerFrame(id, sent, '{"runs":[{"worker":1}],"waitsMs":[2]}'));
      expect([idOf(frame), kindOf(frame)]).toEqual([id, KINDS.answer]);
      const came = readAnswer(frame, true);
      const outputs = came.outputs.map(({ shape, parts }) => ({
        shape,
        bytes: [...Buffer.concat(parts)],
      }));
      expect({ ...came, outputs }).toEqual({
        ...sent,
        outputs: sent.outputs.map(({ shape, parts }) => ({
          shape,
          bytes: [...Buffer.concat(parts)],
        })),
        runs: [{ worker: 1 }],
        waitsMs: [2],
      });
      expect(readAnswer(Buffer.concat(answerFrame(id, sent)), false)).not.toHaveProperty("runs");
    }),
  );
});

test("failures, cancellations and reports come as they were sent", () => {
  const failure = { kind: "failed", reason: "worker-lost", message: "it was Köchel" } as const;
  const frame = failureFrame(7, failure);
  expect([idOf(frame), readFailure(frame)]).toEqual([7, failure]);
  expect([kindOf(cancelFrame(9)), idOf(cancelFrame(9))]).toEqual([KINDS.cancel, 9]);
  const times = { requestMs: 9, queueMs: 1, inputMs: 2, inferMs: 3, outputMs: 4 };
  for (const report of [
    { what: "answered", model: 3, times, atMs: 12.5 },
    { what: "failed", model: 3, reason: undefined, requestMs: 1, atMs: 2 },
    { what: "failed", model: 3, reason: "queue-full", requestMs: 1, atMs: 2 },
    { what: "turned away", model: 3, rows: 5, sloClass: 1 },
  ] as const) {
    expect(readReport(reportFrame(report))).toEqual(report);
  }
});

test("frames come whole, however the stream cuts them", () => {
  const lengths = fc.array(fc.nat(50), { minLength: 1, maxLength: 12 });
  const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(lengths, cuts, (sizes, pieces) => {
      const sent = sizes.map((size, index) => failureFrame(index, failureOf("x".repeat(size))));
      const all = Buffer.concat(sent);
      const came: string[] = [];
      const splitter = new FrameSplitter((frame) => came.push(frame.toString("hex")));
      for (let at = 0, cut = 0; at < all.length; cut++) {
        const end = at + (pieces[cut % pieces.length] ?? 1);
        splitter.push(all.subarray(at, end));
        at = end;
      }
      expect(came).toEqual(sent.map((frame) => frame.toString("hex")));
    }),
  );
});

function failureOf(message: string) {
  return { kind: "failed", reason: "late", message } as const;
}

import { expect, test } from "vitest";
import { decodeReply, ReplyError } from "../../../compiler/load/infer-codec.ts";

function binaryReply(datatype: string, bytes: Uint8Array, before: readonly object[] = []) {
  const output = { name: "y", datatype, parameters: { binary_data_size: bytes.length } };
  const header = Buffer.from(JSON.stringify({ outputs: [output, ...before] }));
  return { body: Buffer.concat([header, bytes]), length: String(header.length) };
}

function predictedOf(datatype: string, data: { buffer: ArrayBufferLike }): number | null {
  const { body, length } = binaryReply(datatype, new Uint8Array(data.buffer));
  return decodeReply(body, length, true).predicted;
}

test.each([
  ["FP32", Float32Array.of(0.1, 0.7, 0.2)],
  ["FP64", Float64Array.of(0.1, 0.7, 0.2)],
  ["INT64", BigInt64Array.of(-3n, 5n, 4n)],
  ["UINT8", Uint8Array.of(1, 200, 3)],
  // −1, 1 and 0.5 as binary16.
  ["FP16", Uint16Array.of(0xbc00, 0x3c00, 0x3800)],
])("finds the largest of %s elements", (datatype, data) => {
  expect(predictedOf(datatype, data)).toBe(1);
});

test("the lowest index wins a tie", () => {
  expect(predictedOf("FP32", Float32Array.of(1, 3, 3))).toBe(1);
});

test("an integer output of one element is the class", () => {
  expect(predictedOf("INT64", BigInt64Array.of(7n))).toBe(7);
});

test("reads data of a JSON reply, nested or flat", () => {
  const reply = (data: unknown) =>
    Buffer.from(JSON.stringify({ outputs: [{ name: "y", datatype: "FP32", data }] }));
  expect(decodeReply(reply([0, 1, 5]), undefined, true).predicted).toBe(2);
  expect(decodeReply(reply([[0, 9, 5]]), undefined, true).predicted).toBe(1);
});

test("takes variant and accuracy from parameters and leaves unlabelled outputs alone", () => {
  const body = Buffer.from(
    JSON.stringify({ parameters: { variant: "small", accuracy: 0.5 }, outputs: "whatever" }),
  );
  expect(decodeReply(body, undefined, false)).toEqual({
    variant: "small",
    accuracy: 0.5,
    predicted: null,
  });
});

test.each([
  ["a header beyond the body", Buffer.from("{}"), "3"],
  ["a header length that is no number", Buffer.from("{}"), "x"],
  ["a header that is no object", Buffer.from("[]"), undefined],
  ["no outputs", Buffer.from("{}"), undefined],
  ["an output cut short", binaryReply("FP32", new Uint8Array(8)).body.subarray(0, -1), "81"],
])("refuses %s", (_, body, length) => {
  expect(() => decodeReply(body, length, true)).toThrow(ReplyError);
});

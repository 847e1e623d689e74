/** Bodies without JSON, which are the only input of a model. */
import { expect, test } from "vitest";
import { parseInferRequest, RequestReader } from "../../../../runtime/server/protocol/protocol.ts";
import type { ModelTensor } from "../../../../runtime/server/tensors/signature.ts";

const IMAGE: ModelTensor = { name: "image", datatype: "BYTES", rowShape: [] };
const NUMBERS: ModelTensor = { name: "x", datatype: "FP32", rowShape: [2] };
const WORDS: ModelTensor = { name: "words", datatype: "BYTES", rowShape: [2] };

function raw(body: Buffer, ...inputs: ModelTensor[]) {
  const outputs = [NUMBERS, { ...NUMBERS, name: "only when asked", isInternal: true }];
  const signature = { names: ["m"], inputs, outputs, variants: [] };
  return parseInferRequest(body, "0", signature, 4);
}

test("of BYTES the body is one element", () => {
  const jpeg = Buffer.from([0xff, 0xd8, 0, 1]);
  const asked = { id: undefined, rows: 1, outputs: [{ index: 0, isBinary: false }] };
  for (const input of [IMAGE, { ...IMAGE, rowShape: [1] }]) {
    const request = raw(jpeg, input);
    expect(request).toMatchObject(asked);
    expect(Buffer.concat(request.inputs)).toEqual(Buffer.from([4, 0, 0, 0, ...jpeg]));
  }
  expect(Buffer.concat(raw(Buffer.alloc(0), IMAGE).inputs)).toEqual(Buffer.alloc(4));
});

test.each([
  [[], [1]],
  [[], [1, 1]],
  [[1], [1]],
  [[1], [1, 1]],
])("rows of one element, %j, may be stated as %j", (rowShape, shape) => {
  const bytes = Buffer.from([2, 0, 0, 0, 0xff, 0xd8]);
  const parameters = { binary_data_size: bytes.length };
  const json = JSON.stringify({
    inputs: [{ name: "image", datatype: "BYTES", shape, parameters }],
  });
  const inputs = [{ ...IMAGE, rowShape }];
  const signature = { names: ["m"], inputs, outputs: [NUMBERS], variants: [] };
  const body = Buffer.concat([Buffer.from(json), bytes]);
  const request = parseInferRequest(body, String(json.length), signature, 4);
  expect([request.rows, Buffer.concat(request.inputs)]).toEqual([1, bytes]);
});

test("of numbers the body is as many rows as it has bytes for", () => {
  const body = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);
  const { rows, inputs } = raw(body, NUMBERS);
  expect([rows, Buffer.concat(inputs)]).toEqual([2, body]);
  const signature = { names: ["m"], inputs: [NUMBERS], outputs: [NUMBERS], variants: [] };
  const reader = new RequestReader(signature, 4);
  for (const count of [2, 1, 2]) {
    expect(reader.read(body.subarray(0, 8 * count), "0").rows).toBe(count);
  }
});

test.each([
  [
    "no rows",
    Buffer.alloc(0),
    [NUMBERS],
    'expected 1 to 4 rows of 8 bytes for input "x", got "0 bytes"',
  ],
  ["a part of a row", Buffer.alloc(9), [NUMBERS], "expected 1 to 4 rows of 8 bytes"],
  ["too many rows", Buffer.alloc(40), [NUMBERS], "expected 1 to 4 rows of 8 bytes"],
  ["elements that are not told apart", Buffer.alloc(9), [WORDS], 'elements of "words" this is'],
  [
    "one of several inputs",
    Buffer.alloc(9),
    [IMAGE, NUMBERS],
    'expected a length above 0: a body without JSON is one input, not "image", "x", got 0',
  ],
])("%s is refused", (_, body, inputs, message) => {
  expect(() => raw(body, ...inputs)).toThrow(message);
});

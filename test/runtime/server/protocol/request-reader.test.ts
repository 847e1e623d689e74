import fc from "fast-check";
import { expect, test } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import { parseInferRequest, RequestReader } from "../../../../runtime/server/protocol/protocol.ts";
import { signatureOf } from "../../../../runtime/server/tensors/signature.ts";
import { ECHOED, servedBundle } from "../harness.ts";

const INPUTS: TensorInfo[] = [
  { name: "a", dtype: "uint8", shape: [-1, 3] },
  { name: "b", dtype: "float32", shape: [-1, 2] },
];
const signature = signatureOf(servedBundle({}, INPUTS, [ECHOED]));
const MAX_ROWS = 4;

interface Message {
  readonly header: string;
  readonly binaryBytes: number;
}

/**
 * Right and wrong requests with few distinct headers, so that most come again: with a body of the
 * right length or of another one.
 */
const message = fc
  .record({
    rows: fc.integer({ min: 0, max: MAX_ROWS + 1 }),
    isSwapped: fc.boolean(),
    isJson: fc.boolean(),
    id: fc.constantFrom(undefined, "q1"),
    timeout: fc.constantFrom(undefined, 0, 1000, -1),
    extraBytes: fc.constantFrom(0, 0, 0, 1, -1),
  })
  .map(({ rows, isSwapped, isJson, id, timeout, extraBytes }): Message => {
    const binary = (bytes: number) => ({ parameters: { binary_data_size: bytes } });
    const a = isJson ? { data: new Array(3 * rows).fill(7) } : binary(3 * rows);
    const inputs = [
      { name: "a", datatype: "UINT8", shape: [rows, 3], ...a },
      { name: "b", datatype: "FP32", shape: [rows, 2], ...binary(8 * rows) },
    ];
    if (isSwapped) inputs.reverse();
    const header = JSON.stringify({ id, inputs, parameters: { timeout } });
    const binaryBytes = Math.max(0, (isJson ? 8 : 11) * rows + extraBytes);
    return { header, binaryBytes };
  });

test("reads every request as it is read without the memory of earlier ones", () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 30, maxLength: 60 }), (messages) => {
      const reader = new RequestReader(signature, MAX_ROWS);
      for (const [index, { header, binaryBytes }] of messages.entries()) {
        const bytes = Buffer.from(
          Array.from({ length: binaryBytes }, (_, at) => (index + at) % 251),
        );
        const body = Buffer.concat([Buffer.from(header), bytes]);
        const length = String(Buffer.byteLength(header));
        const expected = attempt(() => parseInferRequest(body, length, signature, MAX_ROWS));
        expect(attempt(() => reader.read(body, length))).toEqual(expected);
      }
    }),
  );
});

test("a length that is no plain number is refused also when its header is known", () => {
  const reader = new RequestReader(signature, MAX_ROWS);
  const tensor = (name: string, datatype: string, width: number, bytes: number) =>
    ({ name, datatype, shape: [1, width], parameters: { binary_data_size: bytes } }) as const;
  const inputs = [tensor("a", "UINT8", 3, 3), tensor("b", "FP32", 2, 8)];
  const header = Buffer.from(JSON.stringify({ inputs }).padEnd(200));
  const body = Buffer.concat([header, Buffer.alloc(11)]);
  expect(reader.read(body, "200").rows).toBe(1);
  for (const length of ["2e2", "0xc8", " 200", "200.0", "-200", ""]) {
    expect(() => reader.read(body, length)).toThrow("Inference-Header-Content-Length");
  }
});

/** What a call returns, or why it does not. */
function attempt<T>(call: () => T): T | string {
  try {
    return call();
  } catch (error) {
    return String(error);
  }
}

/** Answers to requests that come again are what they would be if nothing were remembered. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { InferRequest } from "../../../../runtime/server/protocol/protocol.ts";
import { writeInferResponse } from "../../../../runtime/server/protocol/response.ts";
import type { Answer } from "../../../../runtime/server/requests/request.ts";
import type { ClientSignature } from "../../../../runtime/server/tensors/signature.ts";

const signature: ClientSignature = {
  names: ["tiny"],
  inputs: [],
  outputs: [
    { name: "y", datatype: "FP32", rowShape: [-1] },
    { name: "z", datatype: "UINT8", rowShape: [] },
  ],
  variants: [{ name: "small" }, { name: "größer" }],
  answersByRow: true,
};

function requestOf(id: string | undefined): Omit<InferRequest, "outputs"> {
  const nothing = { timeoutMs: undefined, variant: undefined, sloClass: undefined };
  const sequence = undefined;
  return { id, rows: 1, inputs: [], isHigh: true, sequence, ...nothing };
}

const outputs = [
  [{ index: 0, isBinary: true }],
  [
    { index: 1, isBinary: true },
    { index: 0, isBinary: true },
  ],
  [
    { index: 0, isBinary: true },
    { index: 1, isBinary: false },
  ],
  [
    { index: 0, isBinary: true },
    { index: 2, isBinary: true },
  ],
];
const remembered = outputs.map((asked) => Object.freeze([...asked]));

const answered = fc
  .record({
    variantByRow: fc.array(fc.nat(1), { minLength: 1, maxLength: 2 }),
    width: fc.constantFrom(1, 3),
    accuracy: fc.constantFrom(0.5, 0.75),
    fill: fc.nat(255),
    isSplit: fc.boolean(),
  })
  .map(({ variantByRow, width, accuracy, fill, isSplit }): Answer => {
    const rows = variantByRow.length;
    const bytes = new Uint8Array(4 * rows * width).fill(fill % 64);
    const parts = isSplit ? [bytes.subarray(0, 4), bytes.subarray(4)] : [bytes];
    const names = [...new Set(variantByRow)].map((index) => signature.variants[index]?.name);
    return {
      kind: "answered",
      outputs: [
        { shape: [rows, width], parts },
        { shape: [rows], parts: [new Uint8Array(rows).fill(fill)] },
      ],
      answerer: { variant: names.join(","), accuracy },
      variantByRow,
      ...{ queueMs: 0, inputMs: 0, inferMs: 0, doneMs: 0, runs: [] },
    };
  });

test("whatever was answered before", () => {
  const model = fc.constantFrom("tiny", "tiny.gold");
  const sloClass = fc.constantFrom(null, "gold");
  const id = fc.constantFrom(undefined, undefined, "q1");
  const asked = fc.tuple(answered, fc.nat(outputs.length - 1), model, sloClass, id);
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 30 }), (all) => {
      for (const [answer, layout, name, sloName, own] of all) {
        const [again, first] = [remembered[layout], [...(outputs[layout] ?? [])]].map((list) =>
          writeInferResponse(
            { modelName: name, sloClass: sloName, hasTextParameters: false },
            { ...requestOf(own), outputs: list ?? [] },
            answer,
            signature,
          ),
        );
        expect(again?.headers).toEqual(first?.headers);
        expect(Buffer.concat(again?.parts ?? [])).toEqual(Buffer.concat(first?.parts ?? []));
      }
    }),
    { numRuns: 200 },
  );
});

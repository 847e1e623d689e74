import { describe, expect, test } from "vitest";
import { agentModel } from "../../../runtime/agent/agent-model.ts";
import { readBatch } from "../../../runtime/agent/batch-request.ts";
import type { VariantModel } from "../../../runtime/exec/models/executor.ts";

const FIXED = { warmBatches: [], path: "/m.onnx" };

/** Rows, an axis that stays open, and a tensor of one shape. */
const JOINED: VariantModel = {
  ...FIXED,
  name: "joined",
  inputs: [
    { name: "x", dtype: "float32", shape: [-1, 2] },
    { name: "y", dtype: "uint8", shape: [-1, -1] },
    { name: "scale", dtype: "float32", shape: [1] },
  ],
  outputs: [{ name: "z", dtype: "float32", shape: [-1, 2] }],
};

const SIZED: VariantModel = {
  ...FIXED,
  name: "sized",
  inputs: [{ name: "x", dtype: "int64", shape: [-1, -1] }],
  outputs: [{ name: "z", dtype: "float32", shape: [-1] }],
  buckets: [{ inputs: [{ input: 0, axis: 1 }], sizes: [4, 8], padding: 0 }],
};

interface Stated {
  readonly name: string;
  readonly datatype: string;
  readonly shape: unknown;
  readonly bytes: number;
}

const X: Stated = { name: "x", datatype: "FP32", shape: [3, 2], bytes: 24 };
const Y: Stated = { name: "y", datatype: "UINT8", shape: [3, 5], bytes: 15 };
const SCALE: Stated = { name: "scale", datatype: "FP32", shape: [1], bytes: 4 };

function read(variant: VariantModel, inputs: readonly Stated[], more: object = {}) {
  const header = {
    id: "a-1",
    inputs: inputs.map(({ bytes, ...stated }) => ({
      ...stated,
      parameters: { binary_data_size: bytes },
    })),
    parameters: { binary_data_output: true },
    ...more,
  };
  const json = Buffer.from(JSON.stringify(header));
  const bytes = inputs.reduce((sum, input) => sum + input.bytes, 0);
  const binary = Uint8Array.from({ length: bytes }, (_, index) => index % 251);
  const body = Buffer.concat([json, binary]);
  return readBatch(body, String(json.length), agentModel(variant.name, variant, null));
}

function bytesOf(inputs: ReturnType<typeof readBatch>["inputs"]): Uint8Array[] {
  return inputs.flatMap((input) => (input instanceof Uint8Array ? [input] : []));
}

describe("a batch", () => {
  test("has its inputs in the order of the model, and the rows of the open ones", () => {
    const batch = read(JOINED, [SCALE, Y, X]);
    expect(batch).toMatchObject({ id: "a-1", rows: 3, bucket: 0 });
    const inputs = bytesOf(batch.inputs);
    expect(inputs.map(({ length }) => length)).toEqual([24, 15, 4]);
    expect(inputs[2]?.[0]).toBe(0);
    expect(inputs[1]?.[0]).toBe(4);
    expect(batch.outputs).toEqual([{ index: 0, isBinary: true }]);
  });

  test("is in the bucket of its sizes, which front ends have padded it to", () => {
    const sized = { ...X, datatype: "INT64" };
    expect(read(SIZED, [{ ...sized, shape: [2, 8], bytes: 128 }]).bucket).toBe(1);
    expect(read(SIZED, [{ ...sized, shape: [2, 4], bytes: 64 }]).bucket).toBe(0);
    expect(() => read(SIZED, [{ ...sized, shape: [2, 5], bytes: 80 }])).toThrow(
      "inputs: expected one of 4, 8 on an axis, got 5",
    );
  });

  test("may have inputs that another worker keeps, and outputs that stay", () => {
    const key = "01234567-89ab-cdef-0123-456789abcdef";
    const request = (parameters: object) => ({
      inputs: [{ name: "x", datatype: "INT64", shape: [2, 4], parameters }],
      outputs: [{ name: "z", parameters: { stratagem_keep: true } }],
    });
    const readOf = (parameters: object) => {
      const body = Buffer.from(JSON.stringify(request(parameters)));
      return readBatch(body, undefined, agentModel("sized", SIZED, null));
    };
    const at = { stratagem_value: key, stratagem_source: "http://10.0.0.7:8000/" };
    const batch = readOf(at);
    expect(batch).toMatchObject({ rows: 2, bucket: 0, kept: new Set([0]) });
    const reference = { key, source: "http://10.0.0.7:8000", shape: [2, 4], path: "inputs[0]" };
    expect(batch.inputs).toMatchObject([reference]);
    expect(readOf({ stratagem_value: key }).inputs).toMatchObject([{ key, source: null }]);
    const source = "stratagem_source: expected a worker";
    for (const wrong of ["http://a/b", "file:///etc", "http://u:p@a", "http://a?x", 7]) {
      expect(() => readOf({ ...at, stratagem_source: wrong }), `${wrong}`).toThrow(source);
    }
    expect(() => readOf({ stratagem_value: "../m" })).toThrow("stratagem_value: expected a key");
  });

  test("may come as JSON", () => {
    const request = {
      inputs: [{ name: "x", datatype: "INT64", shape: [1, 4], data: [1, 2, 3, 4] }],
    };
    const body = Buffer.from(JSON.stringify(request));
    const batch = readBatch(body, undefined, agentModel("sized", SIZED, null));
    expect(batch.id).toBeUndefined();
    expect(new BigInt64Array(Uint8Array.from(bytesOf(batch.inputs)[0] ?? []).buffer)).toEqual(
      new BigInt64Array([1n, 2n, 3n, 4n]),
    );
    expect(batch.outputs).toEqual([{ index: 0, isBinary: false }]);
  });

  test.each([
    ["another rank", [{ ...X, shape: [6] }, Y, SCALE], "inputs[0].shape: expected [any, 2], got"],
    ["no rows", [{ ...X, shape: [0, 2], bytes: 0 }, Y, SCALE], "inputs[0].shape: expected"],
    ["no shape", [{ ...X, shape: null }, Y, SCALE], "inputs[0].shape: expected [any, 2]"],
    ["another type", [{ ...X, datatype: "FP64" }, Y, SCALE], 'inputs[0].datatype: expected "FP32"'],
    ["other rows", [X, { ...Y, shape: [5, 3] }, SCALE], "inputs[1].shape[0]: expected 3"],
    ["too few bytes", [{ ...X, bytes: 20 }, Y, SCALE], "binary_data_size: expected 24"],
    ["an input twice", [X, X, SCALE], "inputs[1].name: expected each of"],
    ["an input less", [X, Y], 'inputs: expected an input named "scale"'],
    ["an unknown input", [X, Y, { ...SCALE, name: "w" }], "inputs[2].name: expected each of"],
  ])("is refused with %s", (_, inputs, message) => {
    expect(() => read(JOINED, inputs)).toThrow(message);
  });

  test("is refused with an id that is none, or an output that there is not", () => {
    const all = [X, Y, SCALE];
    expect(() => read(JOINED, all, { id: 7 })).toThrow("id: expected a text");
    expect(() => read(JOINED, all, { outputs: [{ name: "q" }] })).toThrow("outputs[0].name");
    const classified = { outputs: [{ name: "z", parameters: { classification: 2 } }] };
    expect(() => read(JOINED, all, classified)).toThrow("classification");
  });

  test("is refused where its header is longer than the body, or no JSON", () => {
    const model = agentModel("sized", SIZED, null);
    expect(() => readBatch(Buffer.from("{}"), "3", model)).toThrow("expected JSON of 1 to 2 bytes");
    expect(() => readBatch(Buffer.from("{]"), "2", model)).toThrow("request: expected JSON");
    expect(() => readBatch(Buffer.from("[]"), "2", model)).toThrow("request: expected an object");
  });
});

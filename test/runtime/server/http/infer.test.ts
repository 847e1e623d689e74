import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import { call, closeAll, INFER, inferJson, jsonOf, serve, servedBundle } from "../harness.ts";

afterEach(closeAll);

describe("JSON", () => {
  test("answers nested and flat data with id, variant and accuracy", async () => {
    const harness = await serve();
    const reply = await call(harness, INFER, { body: inferJson([[1, 2.5]], { id: "q-1" }) });
    expect(reply.status).toBe(200);
    expect(reply.headers["stratagem-variant"]).toBe("large");
    expect(jsonOf(reply)).toEqual({
      model_name: "tiny",
      model_version: "1",
      id: "q-1",
      parameters: { variant: "large", accuracy: 0.8 },
      outputs: [{ name: "y", datatype: "FP32", shape: [1, 2], data: [1, 2.5] }],
    });
    const input = { name: "x", datatype: "FP32", shape: [2, 2], data: [1, 2, 3, 4] };
    const flat = await call(harness, "/v2/models/classify/versions/1/infer", {
      body: JSON.stringify({ inputs: [input], parameters: { timeout: 90_000, priority: 0 } }),
    });
    expect(jsonOf(flat)).toMatchObject({
      model_name: "classify",
      outputs: [{ shape: [2, 2], data: [1, 2, 3, 4] }],
    });
    expect(jsonOf(flat)).not.toHaveProperty("id");
  });

  test("carries every datatype both ways, 64-bit integers exactly", async () => {
    const cases: [string, string, string][] = [
      ["bool", "BOOL", "[true,false]"],
      ["uint8", "UINT8", "[0,255]"],
      ["uint16", "UINT16", "[0,65535]"],
      ["uint32", "UINT32", "[0,4294967295]"],
      ["uint64", "UINT64", "[0,18446744073709551615]"],
      ["int8", "INT8", "[-128,127]"],
      ["int16", "INT16", "[-32768,32767]"],
      ["int32", "INT32", "[-2147483648,2147483647]"],
      ["int64", "INT64", "[-9223372036854775808,9007199254740993]"],
      ["float16", "FP16", "[-0.5,65504]"],
      ["float32", "FP32", "[-0.5,16777216]"],
      ["float64", "FP64", "[0.1,1e+300]"],
      ["string", "BYTES", '["a \\" 1234567890123456789","ü"]'],
    ];
    const infos = (prefix: string): TensorInfo[] =>
      cases.map(([dtype]) => ({ name: `${prefix}-${dtype}`, dtype, shape: [-1, 2] }));
    const harness = await serve({ bundle: servedBundle({}, infos("in"), infos("out")) });
    const inputs = cases.map(
      ([dtype, datatype, data]) =>
        `{"name":"in-${dtype}","datatype":"${datatype}","shape":[1,2],"data":${data}}`,
    );
    const reply = await call(harness, INFER, { body: `{"inputs":[${inputs.join(",")}]}` });
    const text = reply.body.toString();
    for (const [dtype, datatype, data] of cases) {
      expect(text).toContain(
        `{"name":"out-${dtype}","datatype":"${datatype}","shape":[1,2],"data":${data}}`,
      );
    }
  });

  test("refuses to write NaN as JSON but gives it as binary data", async () => {
    const harness = await serve();
    const nan = (binary: boolean) =>
      binaryRequest([[Number.NaN, 1]], {
        outputs: [{ name: "y", parameters: { binary_data: binary } }],
      });
    const refused = await call(harness, INFER, nan(false));
    expect([refused.status, jsonOf(refused).error]).toEqual([
      500,
      expect.stringContaining('output "y" has an element that is NaN'),
    ]);
    expect((await call(harness, INFER, nan(true))).status).toBe(200);
  });
});

function binaryRequest(rows: readonly (readonly number[])[], extra: object = {}) {
  const data = Buffer.from(Float32Array.from(rows.flat()).buffer);
  const input = {
    name: "x",
    datatype: "FP32",
    shape: [rows.length, 2],
    parameters: { binary_data_size: data.length },
  };
  const json = Buffer.from(JSON.stringify({ inputs: [input], ...extra }));
  return {
    body: Buffer.concat([json, data]),
    headers: { "inference-header-content-length": json.length },
  };
}

function floatsAfterJson(reply: { headers: Record<string, unknown>; body: Buffer }): number[] {
  const bytes = reply.body.subarray(Number(reply.headers["inference-header-content-length"]));
  return [...new Float32Array(new Uint8Array(bytes).buffer)];
}

describe("binary tensor data", () => {
  test("goes both ways, and by output where asked", async () => {
    const harness = await serve();
    const reply = await call(
      harness,
      INFER,
      binaryRequest(
        [
          [1, 2],
          [3, 4],
        ],
        { id: "b", parameters: { binary_data_output: true } },
      ),
    );
    expect(floatsAfterJson(reply)).toEqual([1, 2, 3, 4]);
    const length = Number(reply.headers["inference-header-content-length"]);
    expect(JSON.parse(reply.body.subarray(0, length).toString())).toMatchObject({
      id: "b",
      outputs: [{ name: "y", shape: [2, 2], parameters: { binary_data_size: 16 } }],
    });
    const overruled = await call(
      harness,
      INFER,
      binaryRequest([[1, 2]], {
        parameters: { binary_data_output: true },
        outputs: [{ name: "y", parameters: { binary_data: false } }],
      }),
    );
    expect(jsonOf(overruled).outputs[0].data).toEqual([1, 2]);
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
  ])("may come compressed: %s", async (encoding, compress) => {
    const harness = await serve();
    const { body, headers } = binaryRequest([[5, 6]], { parameters: { binary_data_output: true } });
    const reply = await call(harness, INFER, {
      body: compress(body),
      headers: { ...headers, "content-encoding": encoding },
    });
    expect(floatsAfterJson(reply)).toEqual([5, 6]);
  });
});

test("returns the requested outputs only, in their order", async () => {
  const ab = (prefix: string): TensorInfo[] =>
    ["a", "b", "c"].map((name) => ({ name: prefix + name, dtype: "int32", shape: [-1] }));
  const harness = await serve({ bundle: servedBundle({}, ab("in-"), ab("out-")) });
  const inputs = ["c", "a", "b"].map((name, data) => ({
    name: `in-${name}`,
    datatype: "INT32",
    shape: [1],
    data: [data],
  }));
  const outputs = [{ name: "out-c" }, { name: "out-a" }];
  const reply = await call(harness, INFER, { body: JSON.stringify({ inputs, outputs }) });
  expect(jsonOf(reply).outputs).toMatchObject([
    { name: "out-c", data: [0] },
    { name: "out-a", data: [1] },
  ]);
});

test("never mixes rows or ids of requests that share batches", async () => {
  const harness = await serve({
    bundle: servedBundle({ workers: 3, maxQueue: 60 }),
    limits: { maxPending: 10_000 },
  });
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.boolean(), async (rowCounts, isHolding) => {
      harness.executor.isHolding = isHolding;
      const pump = setInterval(() => {
        if (harness.executor.held.length > 0) harness.executor.finish();
      }, 0);
      const replies = rowCounts.map(async (rowCount, request) => {
        const rows = Array.from({ length: rowCount }, (_, row) => [request, row]);
        const isBinary = request % 2 === 0;
        const extra = { id: `r${request}`, parameters: { binary_data_output: isBinary } };
        const sent = isBinary ? binaryRequest(rows, extra) : { body: inferJson(rows, extra) };
        const reply = await call(harness, INFER, sent);
        expect(reply.status).toBe(200);
        expect(reply.body.toString()).toContain(`"id":"r${request}"`);
        const floats = isBinary ? floatsAfterJson(reply) : jsonOf(reply).outputs[0].data;
        expect(floats).toEqual(rows.flat());
      });
      await Promise.all(replies);
      clearInterval(pump);
    }),
    { numRuns: 30 },
  );
  expect(harness.executor.batches.some(({ inputs }) => (inputs[0]?.length ?? 0) > 1)).toBe(true);
});

describe("a malformed request is refused with the path of the field", () => {
  const good = { name: "x", datatype: "FP32", shape: [1, 2], data: [1, 2] };
  const cases: [string, unknown][] = [
    ["request: expected an object, got an array of 0", []],
    ["inputs: expected an array, got nothing", {}],
    ['inputs: expected an input named "x"', { inputs: [] }],
    ["id: expected a string, got 3", { inputs: [good], id: 3 }],
    ['inputs[0].name: expected "x", got "z"', { inputs: [{ ...good, name: "z" }] }],
    ["inputs[1].name: expected every input once", { inputs: [good, good] }],
    [
      'inputs[0].datatype: expected "FP32", got "INT8"',
      { inputs: [{ ...good, datatype: "INT8" }] },
    ],
    ["inputs[0].shape: expected [rows, 2]", { inputs: [{ ...good, shape: [2] }] }],
    ["inputs[0].shape[0]: expected 1 to 64 rows, got 0", { inputs: [{ ...good, shape: [0, 2] }] }],
    [
      "inputs[0].shape[0]: expected 1 to 64 rows, got 65",
      { inputs: [{ ...good, shape: [65, 2] }] },
    ],
    ["inputs[0].shape[1]: expected 2, got 3", { inputs: [{ ...good, shape: [1, 3] }] }],
    ["inputs[0].data: expected 2 elements, got 3", { inputs: [{ ...good, data: [1, 2, 3] }] }],
    ["inputs[0].data: expected an array, got nothing", { inputs: [{ ...good, data: undefined }] }],
    ["inputs[0].data[0]: expected 2 elements, got 1", { inputs: [{ ...good, data: [[1]] }] }],
    [
      'inputs[0].data[0][1]: expected a number, got "a"',
      { inputs: [{ ...good, data: [[1, "a"]] }] },
    ],
    ["inputs[0].data[1]: expected a number, got null", { inputs: [{ ...good, data: [1, null] }] }],
    ["parameters: expected an object", { inputs: [good], parameters: 1 }],
    [
      "parameters: expected only timeout, priority, variant, same_variant, slo_class, " +
        'sequence_id, sequence_start, sequence_end, binary_data_output, got "min_accuracy"',
      { inputs: [good], parameters: { min_accuracy: 0.9 } },
    ],
    [
      'inputs[0].parameters: expected only binary_data_size, got "scale"',
      { inputs: [{ ...good, parameters: { scale: 2 } }] },
    ],
    [
      'outputs[0].parameters: expected only binary_data, classification, got "top"',
      { inputs: [good], outputs: [{ name: "y", parameters: { top: 1 } }] },
    ],
    ["parameters.timeout: expected an integer", { inputs: [good], parameters: { timeout: "1" } }],
    ["parameters.priority: expected an integer", { inputs: [good], parameters: { priority: -1 } }],
    [
      "parameters.priority: expected 0: all requests to this model have the same priority; " +
        "timeout states an earlier deadline, and the method accordion has priorities, got 1",
      { inputs: [good], parameters: { priority: 1 } },
    ],
    [
      "parameters.sequence_id: expected nothing: the model keeps no state, got 7",
      { inputs: [good], parameters: { sequence_id: 7, sequence_start: true } },
    ],
    [
      'request: expected only id, parameters, inputs, outputs, got "min_accuracy"',
      { inputs: [good], min_accuracy: 0.9 },
    ],
    [
      'inputs[0]: expected only name, shape, datatype, parameters, data, got "binary_data_size"',
      { inputs: [{ ...good, binary_data_size: 8 }] },
    ],
    [
      'outputs[0]: expected only name, parameters, got "classification"',
      { inputs: [good], outputs: [{ name: "y", classification: 1 }] },
    ],
    [
      "parameters.binary_data_output: expected true",
      { inputs: [good], parameters: { binary_data_output: 1 } },
    ],
    ["outputs: expected an array", { inputs: [good], outputs: {} }],
    [
      'outputs[0].name: expected "y" or "stratagem_variant", got "q"',
      { inputs: [good], outputs: [{ name: "q" }] },
    ],
    [
      'parameters.variant: expected "small" or "large", got "huge"',
      { inputs: [good], parameters: { variant: "huge" } },
    ],
    [
      'parameters.variant: expected "small" or "large", got 1',
      { inputs: [good], parameters: { variant: 1 } },
    ],
    [
      'parameters.same_variant: expected true or false, got "yes"',
      { inputs: [good], parameters: { same_variant: "yes" } },
    ],
    [
      "outputs[1].name: expected every output once",
      { inputs: [good], outputs: [{ name: "y" }, { name: "y" }] },
    ],
    [
      "outputs[0].parameters.classification: expected an integer of 0 or more",
      { inputs: [good], outputs: [{ name: "y", parameters: { classification: -1 } }] },
    ],
    [
      "inputs[0].data: expected nothing in addition to binary_data_size",
      { inputs: [{ ...good, parameters: { binary_data_size: 8 } }] },
    ],
    [
      "inputs[0].parameters.binary_data_size: expected at most the 0 bytes",
      { inputs: [{ ...good, data: undefined, parameters: { binary_data_size: 8 } }] },
    ],
  ];
  test.each(cases)("%s", async (message, request) => {
    const harness = await serve();
    const reply = await call(harness, INFER, { body: JSON.stringify(request) });
    expect([reply.status, jsonOf(reply).error]).toEqual([400, expect.stringContaining(message)]);
    expect(harness.executor.batches).toEqual([]);
  });

  test("unknown parameters, but not those that public clients send", async () => {
    const harness = await serve();
    const own = { content_type: "np", headers: {} };
    const triton = { triton_enable_empty_final_response: true, priority: 0, timeout: 5_000_000 };
    const sequence = { sequence_id: 0, sequence_start: false, sequence_end: false };
    const request = {
      inputs: [{ ...good, parameters: own }],
      outputs: [{ name: "y", parameters: { ...own, binary_data: false, classification: 0 } }],
      parameters: { ...own, ...triton, ...sequence, binary_data_output: false },
      // KServe's client names the model twice.
      model_name: "tiny",
    };
    const reply = await call(harness, INFER, { body: JSON.stringify(request) });
    expect(reply.status).toBe(200);
  });

  test("integers out of range, half numbers in integers", async () => {
    const info = (name: string): TensorInfo[] => [{ name, dtype: "uint64", shape: [-1] }];
    const harness = await serve({ bundle: servedBundle({}, info("x"), info("y")) });
    for (const bad of ["-1", "18446744073709551616", "0.5", '"1"', "1e30"]) {
      const body = `{"inputs":[{"name":"x","datatype":"UINT64","shape":[1],"data":[${bad}]}]}`;
      const reply = await call(harness, INFER, { body });
      expect(jsonOf(reply).error).toMatch(/^inputs\[0\]\.data\[0\]: expected an integer from 0 to/);
    }
  });

  test("binary data that are not what the header says", async () => {
    const harness = await serve();
    const { body } = binaryRequest([[1, 2]]);
    const length = body.length - 8;
    const send = (bytes: Uint8Array, header: number | string) =>
      call(harness, INFER, { body: bytes, headers: { "inference-header-content-length": header } });
    const replies = [
      await send(body, "x"),
      await send(body, body.length + 1),
      await send(body, 5),
      await send(Buffer.concat([body, Buffer.of(1)]), length),
      await send(
        Buffer.from(body.toString("latin1").replace('size":8', 'size":4'), "latin1"),
        length,
      ),
      await call(harness, INFER, { body: Buffer.of(0x7b, 0xff, 0x7d) }),
    ];
    expect(replies.map((reply) => reply.status)).toEqual([400, 400, 400, 400, 400, 400]);
    expect(replies.map((reply) => jsonOf(reply).error)).toEqual([
      expect.stringMatching(/^Inference-Header-Content-Length: expected a length/),
      expect.stringMatching(/^Inference-Header-Content-Length: expected a length/),
      expect.stringMatching(/^request: expected JSON/),
      expect.stringMatching(/^request: expected 8 bytes after the JSON/),
      expect.stringMatching(/^inputs\[0\]\.parameters\.binary_data_size: expected 8/),
      expect.stringMatching(/^request: expected JSON/),
    ]);
  });
});

/** ModelInfer through a client of grpc-js: contents, parameters, refusals, deadlines, the end. */
import { status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import { call, closeAll, INFER, inferJson, servedBundle } from "../harness.ts";
import {
  closeClients,
  floats,
  floatsOf,
  parameter,
  rawRequest,
  SERVICE,
  serveGrpc,
} from "./client.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const code = (name: keyof typeof status) => ({ code: status[name] });

function textTensor(dtype: string, shape: readonly number[] = [-1, 2]) {
  const x: TensorInfo = { name: "x", dtype, shape: [...shape] };
  return servedBundle({}, [x], [{ ...x, name: "y" }]);
}

test("raw contents come back as raw contents, with the variant and the id", async () => {
  const { client } = await serveGrpc();
  const answer = await client.infer(
    rawRequest(
      [
        [1, 2],
        [3, 4],
      ],
      { id: "seven" },
    ),
  );
  expect(answer).toMatchObject({ modelName: "tiny", modelVersion: "1", id: "seven" });
  expect(answer.outputs).toMatchObject([{ name: "y", datatype: "FP32", shape: [2n, 2n] }]);
  expect(answer.rawOutputContents.map(floatsOf)).toEqual([[1, 2, 3, 4]]);
  expect(answer.parameters["variant"]?.parameterChoice.case).toBe("stringParam");
  expect(answer.parameters["accuracy"]?.parameterChoice.case).toBe("doubleParam");
  const { value } = answer.parameters["variants"]?.parameterChoice ?? {};
  expect(JSON.parse(String(value))).toHaveLength(2);
});

test("typed contents come in, and go out for a request that asks for them", async () => {
  const { client } = await serveGrpc();
  const inputs = [
    {
      name: "x",
      datatype: "FP32",
      shape: [1n, 2n],
      contents: { fp32Contents: [0.5, Number.NaN] },
    },
  ];
  const raw = await client.infer({ modelName: "tiny", inputs });
  expect(raw.rawOutputContents.map(floatsOf)).toEqual([[0.5, Number.NaN]]);
  const parameters = { binary_data_output: parameter(false) };
  const typed = await client.infer({ modelName: "tiny", inputs, parameters });
  expect(typed.rawOutputContents).toEqual([]);
  expect(typed.outputs[0]?.contents?.fp32Contents).toEqual([0.5, Number.NaN]);
});

const TYPES = [
  ["bool", "BOOL", { boolContents: [true, false] }],
  ["int8", "INT8", { intContents: [-128, 127] }],
  ["int16", "INT16", { intContents: [-32_768, 32_767] }],
  ["int32", "INT32", { intContents: [-(2 ** 31), 2 ** 31 - 1] }],
  ["int64", "INT64", { int64Contents: [-(2n ** 63n), 2n ** 63n - 1n] }],
  ["uint8", "UINT8", { uintContents: [0, 255] }],
  ["uint16", "UINT16", { uintContents: [0, 65_535] }],
  ["uint32", "UINT32", { uintContents: [0, 2 ** 32 - 1] }],
  ["uint64", "UINT64", { uint64Contents: [0n, 2n ** 64n - 1n] }],
  ["float32", "FP32", { fp32Contents: [-0.5, Number.POSITIVE_INFINITY] }],
  ["float64", "FP64", { fp64Contents: [1e-300, -0.1] }],
  ["string", "BYTES", { bytesContents: [new Uint8Array([0xff, 0]), new Uint8Array()] }],
] as const;

test.each(TYPES)("%s goes to and fro as typed contents", async (dtype, datatype, contents) => {
  const { client } = await serveGrpc({ bundle: textTensor(dtype) });
  const [[field, values] = ["", []]] = Object.entries(contents);
  const answer = await client.infer({
    modelName: "tiny",
    inputs: [{ name: "x", datatype, shape: [1n, 2n], contents: { [field]: [...values] } }],
    parameters: { binary_data_output: parameter(false) },
  });
  expect(answer.outputs[0]?.datatype).toBe(datatype);
  const plain = (value: unknown) => (value instanceof Uint8Array ? [...value] : value);
  const given = answer.outputs[0]?.contents ?? {};
  const answered = (given as unknown as Record<string, unknown[]>)[field] ?? [];
  expect(answered.map(plain)).toEqual([...values].map(plain));
});

test("half floats are raw only", async () => {
  const { client } = await serveGrpc({ bundle: textTensor("float16") });
  const input = { name: "x", datatype: "FP16", shape: [1n, 2n] };
  const bytes = new Uint8Array([1, 2, 3, 4]);
  const answer = await client.infer({
    modelName: "tiny",
    inputs: [input],
    rawInputContents: [bytes],
  });
  expect([...(answer.rawOutputContents[0] ?? [])]).toEqual([...bytes]);
  const typed = { modelName: "tiny", inputs: [{ ...input, contents: { uintContents: [1, 2] } }] };
  await expect(client.infer(typed)).rejects.toMatchObject({
    ...code("INVALID_ARGUMENT"),
    details: expect.stringMatching(/^inputs\[0\]\.contents: expected raw_input_contents: FP16/),
  });
  const parameters = { binary_data_output: parameter(false) };
  await expect(
    client.infer({ modelName: "tiny", inputs: [input], rawInputContents: [bytes], parameters }),
  ).rejects.toMatchObject(code("INVALID_ARGUMENT"));
});

test("brain floats are raw only too, and the configuration names them", async () => {
  const { client } = await serveGrpc({ bundle: textTensor("bfloat16") });
  const input = { name: "x", datatype: "BF16", shape: [1n, 2n] };
  const bytes = Uint8Array.of(0x80, 0x3f, 0xff, 0x7f);
  const request = { modelName: "tiny", inputs: [input], rawInputContents: [bytes] };
  const answer = await client.infer(request);
  expect(answer.outputs).toMatchObject([{ name: "y", datatype: "BF16", shape: [1n, 2n] }]);
  expect([...(answer.rawOutputContents[0] ?? [])]).toEqual([...bytes]);
  const typed = { modelName: "tiny", inputs: [{ ...input, contents: { fp32Contents: [1, 2] } }] };
  await expect(client.infer(typed)).rejects.toMatchObject({
    ...code("INVALID_ARGUMENT"),
    details: expect.stringMatching(/^inputs\[0\]\.contents: expected raw_input_contents: BF16/),
  });
  const parameters = { binary_data_output: parameter(false) };
  await expect(client.infer({ ...request, parameters })).rejects.toMatchObject({
    ...code("INVALID_ARGUMENT"),
    details: expect.stringMatching(/^parameters\.binary_data_output: expected true: output "y"/),
  });
  const schemas = [pb.ModelConfigRequestSchema, pb.ModelConfigResponseSchema] as const;
  const { config } = await client.call(`${SERVICE}/ModelConfig`, schemas, { name: "tiny" });
  expect(config?.input).toMatchObject([{ dataType: pb.DataType.TYPE_BF16 }]);
});

test("rows of one element may have a dimension of one, as configured", async () => {
  const { client } = await serveGrpc({ bundle: textTensor("float32", [-1]) });
  for (const shape of [[2n], [2n, 1n]]) {
    const inputs = [{ name: "x", datatype: "FP32", shape }];
    const answer = await client.infer({
      modelName: "tiny",
      inputs,
      rawInputContents: [floats([5, 6])],
    });
    expect(answer.outputs).toMatchObject([{ shape: [2n] }]);
    expect(answer.rawOutputContents.map(floatsOf)).toEqual([[5, 6]]);
  }
});

test("elements of type BYTES are raw with their lengths", async () => {
  const { client } = await serveGrpc({ bundle: textTensor("string") });
  const raw = Buffer.from([3, 0, 0, 0, 97, 98, 99, 0, 0, 0, 0]);
  const request = (bytes: Uint8Array) => ({
    modelName: "tiny",
    inputs: [{ name: "x", datatype: "BYTES", shape: [1n, 2n] }],
    rawInputContents: [bytes],
  });
  const answer = await client.infer(request(raw));
  expect(Buffer.from(answer.rawOutputContents[0] ?? [])).toEqual(raw);
  await expect(client.infer(request(raw.subarray(1)))).rejects.toMatchObject({
    ...code("INVALID_ARGUMENT"),
    details: expect.stringMatching(/^raw_input_contents\[0\]: expected 2 elements, each after/),
  });
});

test("outputs are those that are asked for, one of them the variant of each row", async () => {
  const { client } = await serveGrpc();
  const outputs = [{ name: "stratagem_variant" }, { name: "y" }];
  const answer = await client.infer(rawRequest([[1, 2]], { outputs }));
  expect(answer.outputs.map(({ name, datatype }) => [name, datatype])).toEqual([
    ["stratagem_variant", "BYTES"],
    ["y", "FP32"],
  ]);
  const [names] = answer.rawOutputContents;
  const variant = answer.parameters["variant"]?.parameterChoice.value;
  expect(Buffer.from(names ?? []).toString("utf8", 4)).toBe(variant);
});

test("a variant that is asked for answers, and the SLO and timeout are as over HTTP", async () => {
  const { client, executor } = await serveGrpc();
  const wish = { variant: parameter("large") };
  const answer = await client.infer(rawRequest([[1, 2]], { parameters: wish }));
  expect(answer.parameters["variant"]?.parameterChoice.value).toBe("large");
  expect(executor.batches.at(-1)?.variant).toBe(1);
});

const REFUSED = [
  ["modelName", { modelName: "none" }, "NOT_FOUND", /^Request for unknown model: 'none'/],
  ["version", { modelVersion: "2" }, "NOT_FOUND", /^Request for unknown model: 'tiny' version 2/],
  ["no inputs", { inputs: [], rawInputContents: [] }, "INVALID_ARGUMENT", /^inputs: expected an/],
  ["contents short", { rawInputContents: [floats([1])] }, "INVALID_ARGUMENT", /^raw_input_cont/],
  ["contents missing", { rawInputContents: [] }, "INVALID_ARGUMENT", /^inputs\[0\]\.contents\.fp/],
  [
    "contents left over",
    { rawInputContents: [floats([1, 2]), floats([1])] },
    "INVALID_ARGUMENT",
    /^raw_input_contents: expected 1, one of every input or none, got 2/,
  ],
  [
    "unknown input",
    { inputs: [{ name: "z", datatype: "FP32", shape: [1n, 2n] }] },
    "INVALID_ARGUMENT",
    /^inputs\[0\]\.name: expected "x", got "z"/,
  ],
  [
    "datatype",
    { inputs: [{ name: "x", datatype: "FP64", shape: [1n, 2n] }] },
    "INVALID_ARGUMENT",
    /^inputs\[0\]\.datatype: expected "FP32", got "FP64"/,
  ],
  [
    "huge shape",
    { inputs: [{ name: "x", datatype: "FP32", shape: [2n ** 62n, 2n] }] },
    "INVALID_ARGUMENT",
    /^inputs\[0\]\.shape\[0\]: expected 1 to 64 rows/,
  ],
  [
    "many axes",
    { inputs: [{ name: "x", datatype: "FP32", shape: new Array(1000).fill(1n) }] },
    "INVALID_ARGUMENT",
    /^inputs\[0\]\.shape: expected at most 32 axes/,
  ],
  [
    "shared memory",
    {
      inputs: [
        {
          name: "x",
          datatype: "FP32",
          shape: [1n, 2n],
          parameters: { shared_memory_region: parameter("mine") },
        },
      ],
    },
    "INVALID_ARGUMENT",
    /^inputs\[0\]\.parameters\.shared_memory_region: expected nothing/,
  ],
  ["output", { outputs: [{ name: "z" }] }, "INVALID_ARGUMENT", /^outputs\[0\]\.name: expected "y"/],
  [
    "classification",
    { outputs: [{ name: "y", parameters: { classification: parameter(-1n) } }] },
    "INVALID_ARGUMENT",
    /^outputs\[0\]\.parameters\.classification/,
  ],
  [
    "priority",
    { parameters: { priority: parameter(-1n) } },
    "INVALID_ARGUMENT",
    /^parameters\.priority: expected an integer of 0 or more, got -1/,
  ],
  [
    "priority of a policy without priorities",
    { parameters: { priority: parameter(2n) } },
    "INVALID_ARGUMENT",
    /^parameters\.priority: expected 0: all requests to this model have the same priority/,
  ],
  [
    "sequence",
    { parameters: { sequence_id: parameter(7n) } },
    "INVALID_ARGUMENT",
    /^parameters\.sequence_id: expected nothing: the model keeps no state, got 7/,
  ],
  [
    "unknown parameter of an input",
    {
      inputs: [
        { name: "x", datatype: "FP32", shape: [1n, 2n], parameters: { scale: parameter(2n) } },
      ],
    },
    "INVALID_ARGUMENT",
    /^inputs\[0\]\.parameters: expected only binary_data_size, got "scale"/,
  ],
  [
    "unknown parameter",
    { parameters: { min_accuracy: parameter("0.9") } },
    "INVALID_ARGUMENT",
    /^parameters: expected only timeout, .*, binary_data_output, got "min_accuracy"/,
  ],
  [
    "unknown parameter of an output",
    { outputs: [{ name: "y", parameters: { top: parameter(1n) } }] },
    "INVALID_ARGUMENT",
    /^outputs\[0\]\.parameters: expected only binary_data, classification, got "top"/,
  ],
  [
    "long timeout",
    { parameters: { timeout: parameter(2n ** 62n) } },
    "INVALID_ARGUMENT",
    /^parameters\.timeout: expected an integer/,
  ],
  [
    "variant",
    { parameters: { variant: parameter("huge") } },
    "INVALID_ARGUMENT",
    /^parameters\.variant: expected "small" or "large"/,
  ],
  [
    "class",
    { parameters: { slo_class: parameter("gold") } },
    "INVALID_ARGUMENT",
    /^parameters\.slo_class: expected nothing/,
  ],
] as const;

test.each(REFUSED)("%s: refused with its path", async (_, more, name, message) => {
  const { client } = await serveGrpc();
  const request = rawRequest([[1, 2]], more as object);
  await expect(client.infer(request)).rejects.toMatchObject({
    ...code(name),
    details: expect.stringMatching(message),
  });
});

test("a timeout that cannot be met is refused, and so is a deadline of the call", async () => {
  const { client } = await serveGrpc();
  const parameters = { timeout: parameter(1n) };
  const refused = client.infer(rawRequest([[1, 2]], { parameters }));
  await expect(refused).rejects.toMatchObject({
    details: expect.stringMatching(/^parameters\.timeout: expected at least/),
  });
});

test("the deadline of a call is what its rows have at most", async () => {
  const { client, executor } = await serveGrpc();
  executor.isHolding = true;
  const late = client.infer(rawRequest([[1, 2]]), { deadline: Date.now() + 60 });
  await expect(late).rejects.toMatchObject(code("DEADLINE_EXCEEDED"));
});

test("a call that is cancelled while it waits is taken back, and counted so", async () => {
  const harness = await serveGrpc();
  const { client, executor } = harness;
  executor.isHolding = true;
  let cancel = () => {};
  const given = client.infer(rawRequest([[1, 2]]), {
    onCall: (one) => {
      cancel = () => one.cancel();
    },
  });
  await executor.ran(1);
  cancel();
  await expect(given).rejects.toMatchObject(code("CANCELLED"));
  // What comes after it on the same connection says that the server knows.
  await client.bytes(`${SERVICE}/ServerLive`, new Uint8Array());
  executor.finish();
  executor.isHolding = false;
  await client.infer(rawRequest([[3, 4]]));
  const text = (await call(harness, "/metrics")).body.toString();
  expect(text).toMatch(/^nv_inference_request_failure\{[^}]*reason="CANCELED"[^}]*\} 1$/m);
  expect(text).toContain('method="ModelInfer",code="CANCELLED"} 1\n');
});

test("a message beyond the largest request of the models is RESOURCE_EXHAUSTED", async () => {
  const { client } = await serveGrpc();
  // 64 rows of two numbers are 512 bytes, and 64 KiB are for what is beside them.
  const fits = client.bytes(`${SERVICE}/ModelInfer`, new Uint8Array(65_536 + 512));
  await expect(fits).rejects.toMatchObject(code("INVALID_ARGUMENT"));
  const long = client.bytes(`${SERVICE}/ModelInfer`, new Uint8Array(65_536 + 513));
  await expect(long).rejects.toMatchObject(code("RESOURCE_EXHAUSTED"));
});

test("a model that fails is INTERNAL, a server that is not ready UNAVAILABLE", async () => {
  const { client, executor } = await serveGrpc();
  executor.isHolding = true;
  executor.onRun = () => executor.refuse();
  await expect(client.infer(rawRequest([[1, 2]]))).rejects.toMatchObject(code("INTERNAL"));
  const { client: early } = await serveGrpc({}, { ready: false });
  const refused = early.infer(rawRequest([[1, 2]]));
  await expect(refused).rejects.toMatchObject(code("UNAVAILABLE"));
});

test("HTTP and gRPC count in the same place, and the door in its own", async () => {
  const harness = await serveGrpc();
  await harness.client.infer(rawRequest([[1, 2]]));
  await call(harness, INFER, { body: inferJson([[1, 2]]) });
  await expect(harness.client.infer({ modelName: "none" })).rejects.toMatchObject({});
  const text = (await call(harness, "/metrics")).body.toString();
  expect(text).toMatch(/^nv_inference_request_success\{[^}]*\} 2$/m);
  expect(text).toContain(
    'stratagem_requests_total{protocol="grpc",method="ModelInfer",code="OK"} 1\n',
  );
  expect(text).toContain(
    'stratagem_requests_total{protocol="grpc",method="ModelInfer",code="NOT_FOUND"} 1\n',
  );
  expect(text).toContain('stratagem_requests_in_flight{protocol="grpc"} 0\n');
  expect(text).toContain('stratagem_buffered_bytes{what="grpc_answers"} 0\n');
  expect(text).toContain('stratagem_connections{protocol="grpc"} 1\n');
});

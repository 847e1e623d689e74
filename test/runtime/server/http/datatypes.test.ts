/** Every datatype of the protocol: what it takes in JSON and as bytes, and what it refuses. */
import { afterEach, expect, test } from "vitest";
import { call, closeAll, type Harness, INFER, jsonOf, serve, servedBundle } from "../harness.ts";

afterEach(closeAll);

function serving(dtype: string, shape: readonly number[] = [-1, 2]): Promise<Harness> {
  const infos = [{ name: "x", dtype, shape }];
  return serve({ bundle: servedBundle({}, infos, infos) });
}

test.each([
  ["bool", "BOOL", '["yes",true]', "data[0]: expected true or false, got"],
  ["uint8", "UINT8", "[0,256]", "data[1]: expected an integer from 0 to 255, got 256"],
  ["uint16", "UINT16", "[-1,0]", "data[0]: expected an integer from 0 to 65535, got -1"],
  ["uint32", "UINT32", "[0,4294967296]", "data[1]: expected an integer from 0 to 4294967295"],
  ["uint64", "UINT64", "[0,18446744073709551616]", "data[1]: expected an integer from 0 to 184"],
  ["int8", "INT8", "[0.5,1]", "data[0]: expected an integer from -128 to 127, got 0.5"],
  ["int16", "INT16", "[1,32768]", "data[1]: expected an integer from -32768 to 32767"],
  ["int32", "INT32", '["1",1]', "data[0]: expected an integer from -2147483648 to 2147483647"],
  ["int64", "INT64", "[1,9223372036854775808]", "data[1]: expected an integer from -922"],
  ["float16", "FP16", '["1",2]', 'data[0]: expected a number, got "1"'],
  ["float32", "FP32", "[null,2]", "data[0]: expected a number, got null"],
  ["float64", "FP64", "[[1],2]", "data: expected 1 elements, got 2"],
  ["string", "BYTES", "[1,2]", "data[0]: expected a string, got 1"],
  ["bfloat16", "BF16", "[1,2]", "data: expected none: BF16 is sent as binary data only"],
])("%s refuses in JSON what it cannot hold", async (dtype, datatype, data, message) => {
  const harness = await serving(dtype);
  const outputs = '"outputs":[{"name":"x","parameters":{"binary_data":true}}]';
  const input = `{"name":"x","datatype":"${datatype}","shape":[1,2],"data":${data}}`;
  const reply = await call(harness, INFER, { body: `{"inputs":[${input}],${outputs}}` });
  expect([reply.status, jsonOf(reply).error]).toEqual([400, expect.stringContaining(message)]);
});

function raw(datatype: string, bytes: Uint8Array, extra: object, shape = [1, 2]) {
  const parameters = { binary_data_size: bytes.length };
  const inputs = [{ name: "x", datatype, shape, parameters }];
  const json = Buffer.from(JSON.stringify({ inputs, ...extra }));
  const headers = { "inference-header-content-length": json.length };
  return { body: Buffer.concat([json, bytes]), headers };
}

test("halves of both kinds keep their bits, and BF16 is asked for as bytes only", async () => {
  const bits = Uint8Array.of(0x80, 0x3f, 0xff, 0x7f);
  for (const [dtype, datatype] of [
    ["float16", "FP16"],
    ["bfloat16", "BF16"],
  ] as const) {
    const harness = await serving(dtype);
    const asked = raw(datatype, bits, { parameters: { binary_data_output: true } });
    const reply = await call(harness, INFER, asked);
    const length = Number(reply.headers["inference-header-content-length"]);
    expect([datatype, reply.status]).toEqual([datatype, 200]);
    expect([...reply.body.subarray(length)]).toEqual([...bits]);
  }
  const harness = await serving("bfloat16");
  expect(jsonOf(await call(harness, "/v2/models/tiny/config")).input[0].data_type).toBe(
    "TYPE_BF16",
  );
  const everything = await call(harness, INFER, raw("BF16", bits, {}));
  expect(jsonOf(everything).error).toBe(
    "parameters.binary_data_output: expected true: " +
      'output "x" is BF16, sent as binary data only, got false',
  );
  const outputs = [{ name: "x", parameters: { binary_data: false } }];
  const asked = await call(harness, INFER, raw("BF16", bits, { outputs }));
  expect(asked.status).toBe(400);
  expect(jsonOf(asked).error).toMatch(/^outputs\[0\]\.parameters\.binary_data: expected true/);
});

test("a tensor whose rows are one element has a dimension in the configuration", async () => {
  const harness = await serving("int32", [-1]);
  const config = jsonOf(await call(harness, "/v2/models/tiny/config"));
  expect(config).toMatchObject({
    max_batch_size: 64,
    input: [{ dims: [1], reshape: { shape: [] } }],
    output: [{ dims: [1], reshape: { shape: [] } }],
  });
  for (const [shape, data] of [
    [[2], [5, 6]],
    [
      [2, 1],
      [5, 6],
    ],
    [
      [2, 1],
      [[5], [6]],
    ],
  ]) {
    const input = { name: "x", datatype: "INT32", shape, data };
    const reply = await call(harness, INFER, { body: JSON.stringify({ inputs: [input] }) });
    expect(jsonOf(reply)).toMatchObject({ outputs: [{ shape: [2], data: [5, 6] }] });
  }
  const bytes = Uint8Array.of(5, 0, 0, 0, 6, 0, 0, 0);
  expect((await call(harness, INFER, raw("INT32", bytes, {}, [2, 1]))).status).toBe(200);
  const wide = await call(harness, INFER, raw("INT32", bytes, {}, [1, 2]));
  expect(jsonOf(wide).error).toBe("inputs[0].shape[1]: expected 1, got 2");
});

/** Requests of several sizes: which bucket holds them, what fills them up, who is refused. */
import { afterEach, expect, test } from "vitest";
import { bucketBundle, SUM_MODEL } from "../../../support/bucket-bundle.ts";
import { closeClients, floats, floatsOf, serveGrpc } from "../grpc/client.ts";
import { call, closeAll, FakeExecutor, INFER, jsonOf, serve } from "../harness.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

/** Sums up each row, its padding included. */
class SummingExecutor extends FakeExecutor {
  override finish(): void {
    const { batch, resolve } = this.take();
    const all = Buffer.concat([...(batch.inputs[0] ?? [])]);
    const values = floatsOf(all);
    const width = values.length / batch.rows;
    const sums = Array.from({ length: batch.rows }, (_, row) =>
      values.slice(row * width, (row + 1) * width).reduce((sum, value) => sum + value, 0),
    );
    const bytes = new Uint8Array(Float32Array.from(sums).buffer);
    resolve({ outputs: [{ shape: [batch.rows, 1], bytes }], wallMs: 1, cpuMs: 1, cores: 1 });
  }
}

const OPTIONS = {
  bundle: bucketBundle(),
  executorFactory: (handlers: ConstructorParameters<typeof FakeExecutor>[0]) =>
    new SummingExecutor(handlers, SUM_MODEL.outputs),
};

function request(width: number, rows = 1, more: object = {}): string {
  const data = Array.from({ length: rows * width }, () => 1);
  const input = { name: "x", datatype: "FP32", shape: [rows, width], data };
  return JSON.stringify({ inputs: [input], ...more });
}

test.each([
  [1, "4", 2.5],
  [4, "4", 4],
  [5, "8", 6.5],
  [8, "8", 8],
])("a row of %d runs in the bucket %s, filled up to it", async (width, bucket, sum) => {
  const harness = await serve(OPTIONS);
  const reply = await call(harness, INFER, { body: request(width, 2) });
  expect(jsonOf(reply)).toMatchObject({
    parameters: { variant: "small", bucket },
    outputs: [{ shape: [2, 1], data: [sum, sum] }],
  });
  expect(harness.executor.batches).toHaveLength(1);
  expect(harness.executor.batches[0]).toMatchObject(bucket === "4" ? {} : { bucket: 1 });
});

test("binary tensors, again and again, and instances of KServe are filled as well", async () => {
  const harness = await serve(OPTIONS);
  for (const width of [3, 6, 3]) {
    const input = { name: "x", datatype: "FP32", shape: [1, width] };
    const parameters = { binary_data_size: 4 * width };
    const json = JSON.stringify({ inputs: [{ ...input, parameters }] });
    const body = Buffer.concat([Buffer.from(json), floats(Array(width).fill(1))]);
    const headers = { "inference-header-content-length": json.length };
    const reply = jsonOf(await call(harness, INFER, { body, headers }));
    expect(reply.outputs[0].data).toEqual([width === 3 ? 3.5 : 7]);
    expect(reply.parameters.bucket).toBe(width === 3 ? "4" : "8");
  }
  const body = JSON.stringify({ instances: [[1, 1, 1], { x: [2, 2, 2] }] });
  const predicted = await call(harness, "/v1/models/tiny:predict", { body });
  expect(jsonOf(predicted)).toEqual({ predictions: [[3.5], [6.5]] });
});

test("gRPC fills rows, and tells the bucket", async () => {
  const { client } = await serveGrpc(OPTIONS);
  const answer = await client.infer({
    modelName: "tiny",
    inputs: [{ name: "x", datatype: "FP32", shape: [1n, 5n] }],
    rawInputContents: [floats([1, 1, 1, 1, 1])],
  });
  expect(answer.rawOutputContents.map(floatsOf)).toEqual([[6.5]]);
  expect(answer.parameters["bucket"]?.parameterChoice.value).toBe("8");
});

test.each([
  [[1, 9], "inputs[0].shape[1]: expected 1 to 8, which is padded to the next of 4, 8, got 9"],
  [[1, 0], "inputs[0].shape[1]: expected 1 to 8, which is padded to the next of 4, 8, got 0"],
  [[1, 2.5], "inputs[0].shape[1]: expected 1 to 8, which is padded to the next of 4, 8, got 2.5"],
])("a request of shape %j is refused: no bucket holds it", async (shape, error) => {
  const harness = await serve(OPTIONS);
  const input = { name: "x", datatype: "FP32", shape, data: [] };
  const reply = await call(harness, INFER, { body: JSON.stringify({ inputs: [input] }) });
  expect([reply.status, jsonOf(reply)]).toEqual([400, { error }]);
  expect(harness.executor.batches).toEqual([]);
});

test("instances that no bucket holds, or of several lengths, are refused", async () => {
  const harness = await serve(OPTIONS);
  const refused = async (instances: unknown) => {
    const body = JSON.stringify({ instances });
    return jsonOf(await call(harness, "/v1/models/tiny:predict", { body })).error;
  };
  const ragged = "instances[1]: expected 2, as in the previous input, got 1";
  expect(await refused([[1, 1], [1]])).toBe(ragged);
  expect(await refused([Array(9).fill(1)])).toContain("expected 1 to 8");
  expect(await refused([7])).toContain("expected 1 to 8");
});

test("metadata leave the axis open", async () => {
  const harness = await serve(OPTIONS);
  const metadata = jsonOf(await call(harness, "/v2/models/tiny"));
  expect(metadata.inputs).toEqual([{ name: "x", datatype: "FP32", shape: [-1, -1] }]);
  const config = jsonOf(await call(harness, "/v2/models/tiny/config"));
  expect(config.input[0].dims).toEqual([-1]);
});

test("metrics tell rows and padding by bucket", async () => {
  const harness = await serve(OPTIONS);
  await call(harness, INFER, { body: request(3, 2) });
  await call(harness, INFER, { body: request(8) });
  const text = (await call(harness, "/metrics")).body.toString();
  const told = text.split("\n").filter((line) => line.includes("bucket="));
  const lines = told.filter((line) => !line.includes("_bucket"));
  expect(lines).toEqual(
    expect.arrayContaining([
      'stratagem_queries_total{model="tiny",bucket="4",outcome="satisfied"} 2',
      'stratagem_queries_total{model="tiny",bucket="8",outcome="satisfied"} 1',
      'stratagem_input_elements_total{model="tiny",bucket="4",kind="data"} 6',
      'stratagem_input_elements_total{model="tiny",bucket="4",kind="padding"} 2',
      'stratagem_input_elements_total{model="tiny",bucket="8",kind="padding"} 0',
      'stratagem_expected_ratio{model="tiny",bucket="8",figure="violations"} 0.001',
    ]),
  );
});

/** Triton's classification extension, over HTTP and gRPC: the largest values of a row. */
import { afterEach, describe, expect, test } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import { classesOf } from "../../../../runtime/server/protocol/classification.ts";
import { closeClients, parameter, serveGrpc } from "../grpc/client.ts";
import { call, closeAll, INFER, jsonOf, serve, servedBundle } from "../harness.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

/** What is sent as `x-TYPE` is answered as `y-TYPE`. */
const infos = (prefix: string, dtype: string): TensorInfo => {
  return { name: `${prefix}-${dtype}`, dtype, shape: [-1, 4] };
};

function asked(datatype: string, dtype: string, data: unknown, parameters: object): string {
  return JSON.stringify({
    inputs: [{ name: `x-${dtype}`, datatype, shape: [2, 4], data }],
    outputs: [{ name: `y-${dtype}`, parameters }],
  });
}

function stringsOf(bytes: Uint8Array): string[] {
  const found: string[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + view.getUint32(at, true);
    found.push(Buffer.from(bytes.subarray(at + 4, end)).toString());
    at = end;
  }
  return found;
}

const VALUES = [0.5, 7, -1, 7, 1, 2, 3, 4];
const TOP_TWO = ["7.000000:1", "7.000000:3", "4.000000:3", "3.000000:2"];

function serveOf(dtype: string) {
  const bundle = servedBundle({}, [infos("x", dtype)], [infos("y", dtype)]);
  return serveGrpc({ bundle });
}

describe("over HTTP", () => {
  test("each row tells its largest values and where they are, as JSON or as bytes", async () => {
    const harness = await serveOf("float32");
    const body = asked("FP32", "float32", VALUES, { classification: 2 });
    const reply = await call(harness, INFER, { body });
    expect(jsonOf(reply).outputs).toEqual([
      { name: "y-float32", datatype: "BYTES", shape: [2, 2], data: TOP_TWO },
    ]);
    const binary = { classification: 2, binary_data: true };
    const bytes = await call(harness, INFER, { body: asked("FP32", "float32", VALUES, binary) });
    const length = Number(bytes.headers["inference-header-content-length"]);
    expect(stringsOf(bytes.body.subarray(length))).toEqual(TOP_TWO);
  });

  test("of no class all values are told, and of too many as many as there are", async () => {
    const harness = await serveOf("int64");
    const data = [1, 2, 3, 4, 8, 7, 6, 5];
    const none = await call(harness, INFER, {
      body: asked("INT64", "int64", data, { classification: 0 }),
    });
    expect(jsonOf(none).outputs[0]).toMatchObject({ datatype: "INT64", data });
    const all = await call(harness, INFER, {
      body: asked("INT64", "int64", data, { classification: 9 }),
    });
    expect(jsonOf(all).outputs[0]).toMatchObject({
      shape: [2, 4],
      data: ["4:3", "3:2", "2:1", "1:0", "8:0", "7:1", "6:2", "5:3"],
    });
  });

  test.each([
    ["BOOL", "bool", Array(8).fill(true)],
    ["BYTES", "string", Array(8).fill("a")],
  ])("%s has no classes", async (datatype, dtype, data) => {
    const harness = await serveOf(dtype);
    const body = asked(datatype, dtype, data, { classification: 1 });
    const reply = await call(harness, INFER, { body });
    expect([reply.status, jsonOf(reply).error]).toEqual([
      400,
      `outputs[0].parameters.classification: expected nothing: output "y-${dtype}" is ` +
        `${datatype}, which has no classes, got 1`,
    ]);
  });

  test("the extension is told", async () => {
    expect(jsonOf(await call(await serve(), "/v2")).extensions).toContain("classification");
  });
});

test("over gRPC it is the same, raw or as contents", async () => {
  const { client } = await serveOf("float32");
  const request = (isRaw: boolean) => ({
    modelName: "tiny",
    inputs: [
      { name: "x-float32", datatype: "FP32", shape: [2n, 4n], contents: { fp32Contents: VALUES } },
    ],
    outputs: [{ name: "y-float32", parameters: { classification: parameter(2n) } }],
    parameters: { binary_data_output: parameter(isRaw) },
  });
  const raw = await client.infer(request(true));
  expect(raw.outputs[0]).toMatchObject({ datatype: "BYTES", shape: [2n, 2n] });
  expect(stringsOf(raw.rawOutputContents[0] ?? new Uint8Array())).toEqual(TOP_TWO);
  const typed = await client.infer(request(false));
  const contents = typed.outputs[0]?.contents?.bytesContents ?? [];
  expect(contents.map((text) => Buffer.from(text).toString())).toEqual(TOP_TWO);
});

test("what is no number comes last, and infinite values are told as C does", () => {
  const values = [Number.NaN, -3, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const bytes = new Uint8Array(new Float32Array(values).buffer);
  const { shape, parts } = classesOf("FP32", bytes, [1, 4], 4);
  expect(shape).toEqual([1, 4]);
  expect(stringsOf(Buffer.concat(parts))).toEqual(["inf:2", "-3.000000:1", "nan:0", "-inf:3"]);
});

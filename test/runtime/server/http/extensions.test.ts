/**
 * What public clients of Triton and KServe look at beside inference: names, image formats,
 * parameters of answers, and the extensions that are not here.
 */
import { afterEach, expect, test } from "vitest";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import { closeClients, rawRequest, SERVICE, serveGrpc } from "../grpc/client.ts";
import { call, closeAll, INFER, inferJson, jsonOf, serve, servedBundle } from "../harness.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const NO_MEMORY = "this server shares no memory with its clients: send tensors in the request";

test.each([
  ["GET", "systemsharedmemory/status", NO_MEMORY],
  ["POST", "systemsharedmemory/region/mine/register", NO_MEMORY],
  ["POST", "systemsharedmemory/unregister", NO_MEMORY],
  ["POST", "cudasharedmemory/region/mine/unregister", NO_MEMORY],
])("%s /v2/%s is 501, with a reason", async (method, path, reason) => {
  const reply = await call(await serve(), `/v2/${path}`, { method });
  expect([reply.status, jsonOf(reply)]).toEqual([501, { error: reason }]);
});

test("other paths of a model stay unknown", async () => {
  const harness = await serve();
  for (const path of ["models/tiny/dance/setting", "models/none/trace/setting", "dance"]) {
    expect((await call(harness, `/v2/${path}`)).status).toBe(404);
  }
});

test("the server calls itself what its operator wants, at both doors", async () => {
  expect(jsonOf(await call(await serve(), "/v2")).name).toBe("stratagem");
  const harness = await serveGrpc({ serverName: "triton" });
  expect(jsonOf(await call(harness, "/v2")).name).toBe("triton");
  const schemas = [pb.ServerMetadataRequestSchema, pb.ServerMetadataResponseSchema] as const;
  const { name } = await harness.client.call(`${SERVICE}/ServerMetadata`, schemas, {});
  expect(name).toBe("triton");
});

test("parameters of answers are strings and numbers, or strings alone", async () => {
  const rows = [
    [1, 2],
    [3, 4],
  ];
  const typed = jsonOf(await call(await serve(), INFER, { body: inferJson(rows) }));
  const variants = '["large","large"]';
  expect(typed.parameters).toEqual({ variant: "large", accuracy: 0.8, variants });
  const harness = await serveGrpc({ textParameters: true });
  const texts = jsonOf(await call(harness, INFER, { body: inferJson(rows) }));
  expect(texts.parameters).toEqual({ variant: "large", accuracy: "0.8", variants });
  const { parameters } = await harness.client.infer(rawRequest(rows));
  for (const [name, value] of Object.entries(texts.parameters)) {
    expect(parameters[name]?.parameterChoice).toEqual({ case: "stringParam", value });
  }
});

test.each([
  [[-1, 3, 8, 6], "FORMAT_NCHW"],
  [[-1, 1, 8, 6], "FORMAT_NCHW"],
  [[-1, 8, 6, 3], "FORMAT_NHWC"],
  [[-1, 8, 6, 5], "FORMAT_NONE"],
  [[-1, 3, 8], "FORMAT_NONE"],
])("an input of shape %j has the image format %s", async (shape, format) => {
  const image = { name: "x", dtype: "float32", shape };
  const harness = await serveGrpc({ bundle: servedBundle({}, [image], [image]) });
  const told = jsonOf(await call(harness, "/v2/models/tiny/config"));
  expect(told.input[0].format).toBe(format);
  const schemas = [pb.ModelConfigRequestSchema, pb.ModelConfigResponseSchema] as const;
  const { config } = await harness.client.call(`${SERVICE}/ModelConfig`, schemas, { name: "tiny" });
  const formats = { FORMAT_NONE: 0, FORMAT_NHWC: 1, FORMAT_NCHW: 2 };
  expect(config?.input[0]?.format).toBe(formats[format as keyof typeof formats]);
});

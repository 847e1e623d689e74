/** What the inference service says of the server and its models, and what it does not do. */
import { status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import { call, closeAll, jsonOf, servedBundle } from "../harness.ts";
import { closeClients, rawRequest, SERVICE, serveGrpc } from "./client.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const NAMED = { name: "tiny" };

test("liveness and readiness are told, of the server and of a model", async () => {
  const { client } = await serveGrpc({}, { ready: false });
  const live = [pb.ServerLiveRequestSchema, pb.ServerLiveResponseSchema] as const;
  expect((await client.call(`${SERVICE}/ServerLive`, live, {})).live).toBe(true);
  const ready = [pb.ServerReadyRequestSchema, pb.ServerReadyResponseSchema] as const;
  expect((await client.call(`${SERVICE}/ServerReady`, ready, {})).ready).toBe(false);
  const model = [pb.ModelReadyRequestSchema, pb.ModelReadyResponseSchema] as const;
  expect((await client.call(`${SERVICE}/ModelReady`, model, NAMED)).ready).toBe(false);
  // As Triton has it; its clients take an error for a server that fails.
  const none = await client.call(`${SERVICE}/ModelReady`, model, { name: "none" });
  expect(none.ready).toBe(false);
  const { client: other } = await serveGrpc();
  expect((await other.call(`${SERVICE}/ServerReady`, ready, {})).ready).toBe(true);
  expect((await other.call(`${SERVICE}/ModelReady`, model, NAMED)).ready).toBe(true);
});

test("metadata and configuration are those of HTTP", async () => {
  const harness = await serveGrpc();
  const { client } = harness;
  const server = [pb.ServerMetadataRequestSchema, pb.ServerMetadataResponseSchema] as const;
  const own = await client.call(`${SERVICE}/ServerMetadata`, server, {});
  const { name, version, extensions } = jsonOf(await call(harness, "/v2"));
  expect(own).toMatchObject({ name, version, extensions });
  const metadata = [pb.ModelMetadataRequestSchema, pb.ModelMetadataResponseSchema] as const;
  const model = await client.call(`${SERVICE}/ModelMetadata`, metadata, NAMED);
  expect(model).toMatchObject({
    name: "tiny",
    versions: ["1"],
    inputs: [{ name: "x", datatype: "FP32", shape: [-1n, 2n] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [-1n, 2n] }],
  });
  const schemas = [pb.ModelConfigRequestSchema, pb.ModelConfigResponseSchema] as const;
  const { config } = await client.call(`${SERVICE}/ModelConfig`, schemas, NAMED);
  const told = jsonOf(await call(harness, "/v2/models/tiny/config"));
  expect(config).toMatchObject({
    name: "tiny",
    backend: told.backend,
    maxBatchSize: told.max_batch_size,
    input: [{ name: "x", dataType: pb.DataType.TYPE_FP32 }],
    parameters: { variants: { stringValue: told.parameters.variants.string_value } },
  });
});

test("statistics are those of HTTP, of one model or all", async () => {
  const harness = await serveGrpc();
  const { client } = harness;
  await client.infer(rawRequest([[1, 2]]));
  const schemas = [pb.ModelStatisticsRequestSchema, pb.ModelStatisticsResponseSchema] as const;
  const { model_stats: told } = jsonOf(await call(harness, "/v2/models/tiny/stats"));
  for (const request of [NAMED, {}]) {
    const { modelStats } = await client.call(`${SERVICE}/ModelStatistics`, schemas, request);
    expect(modelStats).toHaveLength(1);
    expect(modelStats[0]).toMatchObject({ name: "tiny", inferenceCount: 1n, executionCount: 1n });
    const { success } = told[0].inference_stats;
    expect(modelStats[0]?.inferenceStats?.success).toMatchObject({
      count: BigInt(success.count),
      ns: BigInt(success.ns),
    });
    expect(modelStats[0]?.batchStats).toMatchObject([{ batchSize: 1n }]);
  }
});

test("the index lists the models, or those that are ready", async () => {
  const schemas = [pb.RepositoryIndexRequestSchema, pb.RepositoryIndexResponseSchema] as const;
  const { client } = await serveGrpc({ bundle: servedBundle() }, { ready: false });
  const all = await client.call(`${SERVICE}/RepositoryIndex`, schemas, {});
  const reason = "its workers are not ready";
  expect(all.models[0]).toMatchObject({ name: "tiny", version: "1", state: "UNAVAILABLE", reason });
  const ready = await client.call(`${SERVICE}/RepositoryIndex`, schemas, { ready: true });
  expect(ready.models).toEqual([]);
});

const LOAD = [pb.RepositoryModelLoadRequestSchema, pb.RepositoryModelLoadResponseSchema] as const;
const UNLOAD = [
  pb.RepositoryModelUnloadRequestSchema,
  pb.RepositoryModelUnloadResponseSchema,
] as const;

test("loading a model follows its application's file, and says why where it does not", async () => {
  const asked: (string | undefined)[] = [];
  let isFollowed = true;
  const { client } = await serveGrpc({
    admin: {
      reload: async (application) => {
        asked.push(application);
        const notice = "not followed: it has another SLO";
        return { isFollowed, notice, applications: [] };
      },
      config: () => ({}),
      state: () => ({}),
    },
  });
  const load = (request: object) => client.call(`${SERVICE}/RepositoryModelLoad`, LOAD, request);
  await load({ modelName: "tiny" });
  isFollowed = false;
  await expect(load({ modelName: "tiny" })).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: "failed to load 'tiny', not followed: it has another SLO",
  });
  expect(asked).toEqual(["tiny", "tiny"]);
  const config = { parameterChoice: { case: "stringParam", value: "{}" } } as const;
  await expect(load({ modelName: "tiny", parameters: { config } })).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details:
      "failed to load 'tiny', expected no parameters: the bundle defines the model, got config",
  });
  expect(asked).toHaveLength(2);
  const server = [pb.ServerMetadataRequestSchema, pb.ServerMetadataResponseSchema] as const;
  const { extensions } = await client.call(`${SERVICE}/ServerMetadata`, server, {});
  expect(extensions).toContain("model_repository");
});

test("unloading is refused, as is loading what is not there or not from a file", async () => {
  const { client } = await serveGrpc();
  const refused = async (action: "Load" | "Unload", modelName: string) => {
    const path = `${SERVICE}/RepositoryModel${action}`;
    const answer =
      action === "Load"
        ? client.call(path, LOAD, { modelName })
        : client.call(path, UNLOAD, { modelName });
    const { code, details } = await answer.then(String, (reason) => reason);
    expect(code).toBe(status.INVALID_ARGUMENT);
    return details;
  };
  expect(await refused("Unload", "tiny")).toMatch(
    /^failed to unload 'tiny', a model cannot be unloaded/,
  );
  expect(await refused("Load", "tiny")).toMatch(
    /^failed to load 'tiny', its bundle was not read from/,
  );
  for (const action of ["Load", "Unload"] as const) {
    const unknown = "'other', Request for unknown model: 'other' is not found";
    expect(await refused(action, "other")).toBe(`failed to ${action.toLowerCase()} ${unknown}`);
  }
});

const NOT_DONE = [
  "SystemSharedMemoryStatus",
  "SystemSharedMemoryRegister",
  "SystemSharedMemoryUnregister",
  "CudaSharedMemoryStatus",
  "CudaSharedMemoryRegister",
  "CudaSharedMemoryUnregister",
  // Of a server without a log of its own, as those of tests are.
  "LogSettings",
];

test.each(NOT_DONE)("%s is UNIMPLEMENTED, with a reason", async (method) => {
  const { client } = await serveGrpc();
  await expect(client.bytes(`${SERVICE}/${method}`, new Uint8Array())).rejects.toMatchObject({
    code: status.UNIMPLEMENTED,
    details: expect.stringMatching(/^this server /),
  });
});

test("a method that nobody has heard of is UNIMPLEMENTED", async () => {
  const { client } = await serveGrpc();
  await expect(client.bytes(`${SERVICE}/Dance`, new Uint8Array())).rejects.toMatchObject({
    code: status.UNIMPLEMENTED,
  });
});

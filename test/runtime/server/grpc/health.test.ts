/** Health and reflection over gRPC, and what becomes of calls while the server stops. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { familiesOf, type Sample } from "../../../../runtime/base/exposition.ts";
import * as health from "../../../../runtime/server/grpc/pb/health-pb.ts";
import * as reflection from "../../../../runtime/server/grpc/pb/reflection-pb.ts";
import { closeAll, type Harness } from "../harness.ts";
import { closeClients, messagesOf, rawRequest, serveGrpc, type TestClient } from "./client.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const HEALTH = "/grpc.health.v1.Health";
const SERVICE_NAME = "inference.GRPCInferenceService";
const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = health.HealthCheckResponse_ServingStatus;

const CHECK = [health.HealthCheckRequestSchema, health.HealthCheckResponseSchema] as const;

function check(client: TestClient, service = "") {
  return client.call(`${HEALTH}/Check`, CHECK, { service });
}

/** Calls that have come and have no answer. */
function callsIn(server: Harness["server"]): number {
  const samples = familiesOf(server.metricLines()).flatMap((family) => family.samples);
  const name = "stratagem_requests_in_flight";
  const isIt = (one: Sample) => one.name === name && one.labels["protocol"] === "grpc";
  return samples.find(isIt)?.value ?? 0;
}

function watch(client: TestClient, service = "") {
  const request = create(health.HealthCheckRequestSchema, { service });
  const bytes = toBinary(health.HealthCheckRequestSchema, request);
  return messagesOf(health.HealthCheckResponseSchema, client.readable(`${HEALTH}/Watch`, bytes));
}

test("the server and its service are healthy once workers are ready", async () => {
  const { client, executor } = await serveGrpc({}, { ready: false });
  expect(await check(client)).toMatchObject({ status: NOT_SERVING });
  executor.handlers.onReady(0);
  executor.handlers.onReady(1);
  expect(await check(client)).toMatchObject({ status: SERVING });
  expect(await check(client, SERVICE_NAME)).toMatchObject({ status: SERVING });
  await expect(check(client, "none")).rejects.toMatchObject({ code: status.NOT_FOUND });
  const list = [health.HealthListRequestSchema, health.HealthListResponseSchema] as const;
  const { statuses } = await client.call(`${HEALTH}/List`, list, {});
  expect(Object.keys(statuses).sort()).toEqual(["", SERVICE_NAME]);
});

test("whoever watches is told when that changes, and when the server stops", async () => {
  const { client, executor, server } = await serveGrpc({}, { ready: false });
  const watched = watch(client);
  expect((await watched.next()).value).toMatchObject({ status: NOT_SERVING });
  executor.handlers.onReady(0);
  executor.handlers.onReady(1);
  expect((await watched.next()).value).toMatchObject({ status: SERVING });
  const closed = server.close();
  expect((await watched.next()).value).toMatchObject({ status: NOT_SERVING });
  await expect(watched.next()).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await closed;
});

test("a service that there is not is told as unknown, and watched", async () => {
  const { client } = await serveGrpc();
  expect((await watch(client, "none").next()).value).toMatchObject({ status: SERVICE_UNKNOWN });
});

test("while the server stops, what was sent is answered; later it is UNAVAILABLE", async () => {
  const { client, executor, server } = await serveGrpc();
  executor.isHolding = true;
  const sent = [1, 2].map((value) => client.infer(rawRequest([[value, 0]])));
  while (callsIn(server) < 2) await new Promise(setImmediate);
  const closed = server.close();
  expect(server.isReady()).toBe(false);
  for (const [index, answer] of sent.entries()) {
    await executor.ran(index + 1);
    executor.finish();
    await expect(answer).resolves.toMatchObject({ modelName: "tiny" });
  }
  await closed;
  await expect(client.infer(rawRequest([[5, 6]]))).rejects.toMatchObject({
    code: status.UNAVAILABLE,
  });
});

const REQUEST = reflection.ServerReflectionRequestSchema;

async function reflect(
  client: TestClient,
  messageRequest: reflection.ServerReflectionRequest["messageRequest"],
) {
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const stream = client.duplex(path);
  stream.write(toBinary(REQUEST, create(REQUEST, { messageRequest })));
  stream.end();
  const answers = messagesOf(reflection.ServerReflectionResponseSchema, stream);
  return (await answers.next()).value?.messageResponse;
}

test("reflection tells services and their files", async () => {
  const { client } = await serveGrpc();
  const listed = await reflect(client, { case: "listServices", value: "" });
  if (listed?.case !== "listServicesResponse") throw new Error("no list");
  const { service } = listed.value;
  expect(service.map(({ name }) => name).sort()).toEqual([
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    SERVICE_NAME,
  ]);
  for (const symbol of [SERVICE_NAME, `${SERVICE_NAME}.ModelInfer`, "inference.ModelConfig"]) {
    const found = await reflect(client, { case: "fileContainingSymbol", value: symbol });
    if (found?.case !== "fileDescriptorResponse") throw new Error(`no file for ${symbol}`);
    const [file] = found.value.fileDescriptorProto;
    const described = fromBinary(FileDescriptorProtoSchema, file ?? new Uint8Array());
    expect(described).toMatchObject({ name: "inference.proto", package: "inference" });
  }
  const none = await reflect(client, { case: "fileByFilename", value: "none.proto" });
  expect(none).toMatchObject({ case: "errorResponse", value: { errorCode: status.NOT_FOUND } });
});

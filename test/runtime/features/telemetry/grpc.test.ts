/** gRPC calls in the access log and in traces, and the ids in their responses. */
import { create, toBinary } from "@bufbuild/protobuf";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { Sampling } from "../../../../runtime/features/telemetry/otlp/sampling.ts";
import { telemetryOf } from "../../../../runtime/features/telemetry/telemetry.ts";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import type { RequestRecord } from "../../../../runtime/server/requests/request-record.ts";
import {
  closeClients,
  messagesOf,
  rawRequest,
  SERVICE,
  serveGrpc,
} from "../../server/grpc/client.ts";
import { call, closeAll } from "../../server/harness.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;
const INFER = `${SERVICE}/ModelInfer`;

type Options = Parameters<typeof serveGrpc>[0];

/** A server that logs requests to a list, and keeps the records that are traced. */
async function logged(options: Options = {}) {
  const lines: Record<string, unknown>[] = [];
  const records: RequestRecord[] = [];
  const accessLog = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const traces = {
    sampling: new Sampling("always_on", 1),
    take: (record: RequestRecord) => void records.push(record),
    lines: () => [],
  };
  const clock = { nowMs: 1000 };
  const nowMs = () => clock.nowMs;
  const features = [telemetryOf({ accessLog, traces, epochOffsetMs: () => 0 })];
  const harness = await serveGrpc({ ...options, features, nowMs });
  /** Once there are as many lines. */
  const settled = async (count: number) => {
    while (lines.length < count) await new Promise(setImmediate);
    return lines;
  };
  return { ...harness, clock, settled, records };
}

function metadataOf(fields: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return metadata;
}

/** Metadata of an answer by its names. */
function told(metadata: Metadata | undefined, name: string): unknown {
  return metadata?.get(name)[0];
}

/** Sends an inference request. @returns the metadata with which its answer begins. */
async function initialOf(
  { client }: Awaited<ReturnType<typeof serveGrpc>>,
  request: Parameters<typeof rawRequest>[1] = {},
  fields: Readonly<Record<string, string>> = {},
): Promise<Metadata> {
  let initial = new Metadata();
  await client.infer(rawRequest([[1, 2]], request), {
    metadata: metadataOf(fields),
    onCall: (made) => made.on("metadata", (metadata) => (initial = metadata)),
  });
  return initial;
}

test("the access log has a line for each call, and responses repeat ids", async () => {
  const harness = await logged();
  const { clock, executor, settled } = harness;
  executor.isHolding = true;
  const fields = { "x-request-id": "mine-1", traceparent: TRACEPARENT, tracestate: "a=b" };
  const asked = initialOf(harness, { id: "other" }, fields);
  await executor.ran(1);
  clock.nowMs += 12.5;
  executor.finish();
  const initial = await asked;
  const [line] = await settled(1);
  expect(line).toMatchObject({
    requestId: "mine-1",
    protocol: "grpc",
    method: INFER.slice(1),
    path: INFER,
    model: "tiny",
    status: status.OK,
    rows: 1,
    totalMs: 12.5,
    queueMs: 0,
    computeMs: 12.5,
    variant: "large",
    batch: 1,
    level: 0,
    worker: 0,
    traceId: TRACE,
    parentSpanId: SPAN,
  });
  expect(line?.["client"]).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(line?.["requestBytes"]).toBeGreaterThan(8);
  expect(line?.["responseBytes"]).toBeGreaterThan(8);
  expect(told(initial, "x-request-id")).toBe("mine-1");
  expect(told(initial, "traceparent")).toBe(`00-${TRACE}-${line?.["spanId"]}-01`);
  expect(told(initial, "tracestate")).toBe("a=b");
});

test("the request id is taken from metadata, else from the message, else generated", async () => {
  const harness = await logged();
  const named = await initialOf(harness, { id: "seven" });
  const made = await initialOf(harness);
  const unfit = await initialOf(harness, { id: "sie ben" });
  expect(told(named, "x-request-id")).toBe("seven");
  expect(told(made, "x-request-id")).toMatch(/^[\da-f]{32}-[\da-f]{16}$/);
  expect(told(unfit, "x-request-id")).toMatch(/^[\da-f]{32}-[\da-f]{16}$/);
  const lines = await harness.settled(3);
  expect(lines.map(({ requestId }) => requestId)).toEqual(
    [named, made, unfit].map((metadata) => told(metadata, "x-request-id")),
  );
});

test("rejections repeat ids and traces and are logged with their reasons", async () => {
  const { client, settled } = await logged();
  const metadata = metadataOf({ traceparent: TRACEPARENT });
  const request = rawRequest([[1, 2]], { modelName: "none", id: "mine" });
  const error: ServiceError = await client.infer(request, { metadata }).catch((reason) => reason);
  const [line] = await settled(1);
  expect(told(error.metadata, "x-request-id")).toBe("mine");
  expect(told(error.metadata, "traceparent")).toBe(`00-${TRACE}-${line?.["spanId"]}-01`);
  expect(line).toMatchObject({ status: status.NOT_FOUND, requestId: "mine", error: error.details });
});

test("without logs and traces ids and parents are repeated and none are generated", async () => {
  const harness = await serveGrpc();
  const plain = await initialOf(harness);
  expect(told(plain, "x-request-id")).toBeUndefined();
  expect(told(plain, "traceparent")).toBeUndefined();
  const fields = { "x-request-id": "mine", traceparent: TRACEPARENT, tracestate: "a=b" };
  const named = await initialOf(harness, {}, fields);
  for (const [name, value] of Object.entries(fields)) expect(told(named, name)).toBe(value);
  const wrong = await initialOf(harness, {}, { traceparent: "00-what", tracestate: "a=b" });
  expect(told(wrong, "traceparent")).toBeUndefined();
});

test("a client that disconnects before its answer is logged without a status", async () => {
  const { client, executor, settled } = await logged();
  executor.isHolding = true;
  const asked = client.infer(rawRequest([[1, 2]]), {
    onCall: (made) => void executor.ran(1).then(() => made.cancel()),
  });
  await expect(asked).rejects.toMatchObject({ code: status.CANCELLED });
  const [line] = await settled(1);
  expect(line).toMatchObject({ status: null, error: "the client went away" });
});

test("each request of a stream is logged, with a trace below that of the stream", async () => {
  const { client, settled, records } = await logged();
  const fields = { "x-request-id": "all", traceparent: TRACEPARENT };
  const stream = client.duplex(`${SERVICE}/ModelStreamInfer`, metadataOf(fields));
  let initial = new Metadata();
  stream.on("metadata", (metadata) => (initial = metadata));
  const schema = pb.ModelInferRequestSchema;
  for (const more of [{ id: "a" }, { id: "b", modelName: "none" }]) {
    stream.write(toBinary(schema, create(schema, rawRequest([[1, 2]], more))));
  }
  stream.end();
  const ids: (string | undefined)[] = [];
  for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) {
    ids.push(one.inferResponse?.id);
  }
  // A refusal names the request as well, as Triton's do.
  expect(ids).toEqual(["a", "b"]);
  expect(told(initial, "x-request-id")).toBe("all");
  const lines = await settled(3);
  const byId = (id: string) => lines.find(({ requestId }) => requestId === id);
  expect(byId("a")).toMatchObject({ status: status.OK, model: "tiny", rows: 1 });
  expect(byId("b")).toMatchObject({ status: status.NOT_FOUND });
  expect(byId("all")).toMatchObject({ status: status.OK, parentSpanId: SPAN });
  expect(byId("a")?.["parentSpanId"]).toBe(byId("all")?.["spanId"]);
  expect(records.map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE]);
});

test("other calls and oversized messages are logged as well", async () => {
  const grpc = { host: "127.0.0.1", port: 0, maxStreams: 4, maxMessageBytes: 100 };
  const { client, settled } = await logged({ grpc });
  await client.bytes("/grpc.health.v1.Health/Check", new Uint8Array());
  const long = client.bytes(INFER, new Uint8Array(200));
  await expect(long).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  const lines = await settled(2);
  expect(lines.map(({ path }) => path)).toEqual(["/grpc.health.v1.Health/Check", INFER]);
  expect(lines[0]).toMatchObject({ status: status.OK });
  expect(lines[0]).not.toHaveProperty("model");
  expect(lines[1]).toMatchObject({
    status: status.RESOURCE_EXHAUSTED,
    error: "request: expected a body of at most 100 bytes, the limit of messages, got 200",
  });
});

test("gRPC requests are counted in histograms, and model errors are logged", async () => {
  const notices: [string, string | undefined][] = [];
  const harness = await logged({
    onNotice: (message, severity) => void notices.push([message, severity]),
  });
  const { client, executor } = harness;
  await client.infer(rawRequest([[1, 2]]));
  executor.isHolding = true;
  const asked = client.infer(rawRequest([[1, 2]], { id: "r1" }));
  await executor.ran(2);
  executor.refuse();
  await expect(asked).rejects.toMatchObject({ code: status.INTERNAL });
  expect(notices).toEqual([["request r1: 500 small: the model said no", "debug"]]);
  const text = (await call(harness, "/metrics")).body.toString();
  expect(text).toMatch(/^stratagem_request_duration_seconds_count\{[^}]*\} 1$/m);
});

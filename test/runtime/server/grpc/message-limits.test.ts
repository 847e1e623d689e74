/** Messages are counted, limited and timed before they are whole, as HTTP bodies are. */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterEach, expect, test, vi } from "vitest";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import { call, closeAll, type Harness } from "../harness.ts";
import { closeClients, type GrpcHarness, rawRequest, SERVICE, serveGrpc } from "./client.ts";

const SESSIONS: ClientHttp2Session[] = [];

afterEach(async () => {
  closeClients();
  for (const session of SESSIONS.splice(0)) session.destroy();
  await closeAll();
});

const MIB = 2 ** 20;
const RPCS = ["ModelInfer", "ModelStreamInfer"];

/** With a budget of 4 MiB: 1 MiB for a connection that has more than one request. */
function serveLimited(limits: object = {}): Promise<GrpcHarness> {
  const grpc = { host: "127.0.0.1", port: 0, maxStreams: 64, maxMessageBytes: MIB };
  return serveGrpc({ grpc, limits: { maxBytesInFlight: 4 * MIB, lingerMs: 20, ...limits } });
}

function sessionOf({ server }: GrpcHarness): ClientHttp2Session {
  const session = connect(`http://${server.grpcUrl}`);
  SESSIONS.push(session);
  return session;
}

function streamOf(session: ClientHttp2Session, rpc: string, headers = {}): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": `${SERVICE}/${rpc}`,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  stream.resume();
  return stream;
}

function headOf(bytes: number, flag = 0): Buffer {
  const head = Buffer.alloc(5, flag);
  head.writeUInt32BE(bytes, 1);
  return head;
}

async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const [headers] = await once(stream, "response");
  return Number(headers["grpc-status"]);
}

async function heldBytes(harness: Harness): Promise<number> {
  const text = (await call(harness, "/metrics")).body.toString();
  return Number(/^stratagem_buffered_bytes\{what="requests"\} (\d+)$/m.exec(text)?.[1]);
}

function untilHeld(harness: Harness, bytes: number): Promise<void> {
  return vi.waitFor(async () => expect(await heldBytes(harness)).toBe(bytes));
}

test.each(RPCS)("%s: a message counts from its length on, until its call ends", async (rpc) => {
  const harness = await serveLimited();
  const stream = streamOf(sessionOf(harness), rpc);
  stream.write(headOf(1000));
  await untilHeld(harness, 1512);
  stream.close();
  await untilHeld(harness, 0);
});

test.each(RPCS)("%s: one connection holds a quarter, and all of them no more", async (rpc) => {
  const harness = await serveLimited();
  const session = sessionOf(harness);
  const first = streamOf(session, rpc);
  first.write(headOf(MIB));
  await untilHeld(harness, MIB + 512);
  const second = streamOf(session, rpc);
  second.write(headOf(1000));
  expect(await statusOf(second)).toBe(status.RESOURCE_EXHAUSTED);
  // The client goes on sending, and its stream is ended.
  await once(second, "close");
  for (let others = 0; others < 2; others++) {
    streamOf(sessionOf(harness), rpc).write(headOf(MIB));
  }
  await untilHeld(harness, 3 * (MIB + 512));
  const last = streamOf(sessionOf(harness), rpc);
  last.write(headOf(MIB));
  expect(await statusOf(last)).toBe(status.UNAVAILABLE);
  first.close();
  await untilHeld(harness, 2 * (MIB + 512));
});

test.each(RPCS)("%s: a message over the limit is refused by its length", async (rpc) => {
  const stream = streamOf(sessionOf(await serveLimited()), rpc);
  stream.write(headOf(MIB + 1));
  expect(await statusOf(stream)).toBe(status.RESOURCE_EXHAUSTED);
});

test.each(RPCS)("%s: a message that stops or trickles is refused", async (rpc) => {
  const harness = await serveLimited({ bodyWindowMs: 20, minBodyBytesPerS: 1_000_000 });
  const stream = streamOf(sessionOf(harness), rpc);
  stream.write(Buffer.concat([headOf(1000), Buffer.alloc(10)]));
  expect(await statusOf(stream)).toBe(status.DEADLINE_EXCEEDED);
  await untilHeld(harness, 0);
  const text = (await call(harness, "/metrics")).body.toString();
  expect(text).toContain(
    `stratagem_requests_total{protocol="grpc",method="${rpc}",code="DEADLINE_EXCEEDED"} 1`,
  );
  expect(text).toContain('stratagem_requests_in_flight{protocol="grpc"} 0\n');
});

test.each(RPCS)("%s: a call that ends within a message is refused", async (rpc) => {
  const stream = streamOf(sessionOf(await serveLimited()), rpc);
  stream.end(Buffer.concat([headOf(1000), Buffer.alloc(10)]));
  expect(await statusOf(stream)).toBe(status.INVALID_ARGUMENT);
});

test("a stream without a message is not timed", async () => {
  const harness = await serveLimited({ bodyWindowMs: 10, bodyTimeoutMs: 20 });
  const session = sessionOf(harness);
  const idle = streamOf(session, "ModelStreamInfer");
  const slow = streamOf(session, "ModelStreamInfer");
  slow.write(headOf(10));
  expect(await statusOf(slow)).toBe(status.DEADLINE_EXCEEDED);
  expect(idle.closed).toBe(false);
});

test.each([1, 3, 4096])("a message in pieces of %i bytes is read whole", async (step) => {
  const harness = await serveLimited();
  const stream = streamOf(sessionOf(harness), "ModelInfer");
  const schema = pb.ModelInferRequestSchema;
  const message = toBinary(schema, create(schema, rawRequest([[1, 2]], { id: "i".repeat(600) })));
  const bytes = Buffer.concat([headOf(message.length), message]);
  const answered = once(stream, "trailers");
  for (let at = 0; at < bytes.length; at += step) {
    await new Promise<unknown>((sent) => stream.write(bytes.subarray(at, at + step), sent));
  }
  stream.end();
  const [trailers] = await answered;
  expect(trailers["grpc-status"]).toBe("0");
  await untilHeld(harness, 0);
});

test("a compressed message counts as it is decompressed", async () => {
  const harness = await serveLimited({ maxBytesInFlight: MIB / 2 });
  const stream = streamOf(sessionOf(harness), "ModelInfer", { "grpc-encoding": "gzip" });
  const bomb = gzipSync(Buffer.alloc(MIB - 1));
  stream.end(Buffer.concat([headOf(bomb.length, 1), bomb]));
  expect(await statusOf(stream)).toBe(status.UNAVAILABLE);
  await untilHeld(harness, 0);
});

function streamed(count: number, encoding?: "gzip"): Buffer {
  const schema = pb.ModelInferRequestSchema;
  const messages = Array.from({ length: count }, (_, at) => {
    const plain = toBinary(schema, create(schema, rawRequest([[1, 2]], { id: `${at}` })));
    const message = encoding === undefined ? plain : gzipSync(plain);
    return [headOf(message.length, encoding === undefined ? 0 : 1), message];
  });
  return Buffer.concat(messages.flat());
}

/** Messages of a stream that has ended, without their heads. */
async function messagesOf(stream: ClientHttp2Stream): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    messages.push(bytes.subarray(at + 5, end));
    at = end;
  }
  return messages;
}

test.each([undefined, "gzip"] as const)("a thousand messages at once: %s", async (encoding) => {
  const harness = await serveLimited();
  const headers = encoding === undefined ? {} : { "grpc-encoding": encoding };
  const stream = streamOf(sessionOf(harness), "ModelStreamInfer", headers).pause();
  stream.end(streamed(1000, encoding));
  const answers = (await messagesOf(stream)).map((message) => {
    return fromBinary(pb.ModelStreamInferResponseSchema, message).inferResponse?.id;
  });
  expect(answers).toEqual(Array.from({ length: 1000 }, (_, at) => `${at}`));
  await untilHeld(harness, 0);
});

test("messages are split off as they are wanted", async () => {
  const harness = await serveLimited({ maxBytesInFlight: 64 * MIB });
  const session = sessionOf(harness);
  const stream = streamOf(session, "ModelStreamInfer").pause();
  const sent = new Promise<unknown>((resolve) => stream.write(Buffer.alloc(15_000), resolve));
  await once(stream, "response");
  await sent;
  await new Promise<void>((resolve) => session.ping(() => resolve()));
  // Each counts with 512 bytes, and a client that reads no answer is sent a few of them.
  expect(await heldBytes(harness)).toBeLessThan(200 * 512);
});

test("what is not compressed as stated is refused", async () => {
  const harness = await serveLimited();
  const stream = streamOf(sessionOf(harness), "ModelInfer", { "grpc-encoding": "gzip" });
  stream.end(Buffer.concat([headOf(9, 1), Buffer.alloc(9)]));
  expect(await statusOf(stream)).toBe(status.INVALID_ARGUMENT);
  await untilHeld(harness, 0);
});

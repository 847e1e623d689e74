/** Who comes to the gRPC door: too many, too slow, those who speak something else. */
import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { call, closeAll } from "../harness.ts";
import { closeClients, rawRequest, SERVICE, serveGrpc, TestClient } from "./client.ts";

const SESSIONS: ClientHttp2Session[] = [];

afterEach(async () => {
  closeClients();
  for (const session of SESSIONS.splice(0)) session.destroy();
  await closeAll();
});

function addressOf(grpcUrl = ""): { host: string; port: number } {
  const [host = "", port = ""] = grpcUrl.split(":");
  return { host, port: Number(port) };
}

test.each([
  ["HTTP/1.1", "GET / HTTP/1.1\r\nhost: h\r\n\r\n"],
  ["noise", Buffer.alloc(4096, 0xa5)],
  ["a preface, then noise", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"x".repeat(4096)}`],
  ["nothing", ""],
])("%s on a connection ends that connection only", async (_, bytes) => {
  const { client, server } = await serveGrpc();
  const socket = connect(addressOf(server.grpcUrl));
  socket.on("error", () => {});
  await once(socket, "connect");
  const closed = once(socket, "close");
  socket.resume();
  socket.end(bytes);
  await closed;
  await expect(client.infer(rawRequest([[1, 2]]))).resolves.toMatchObject({ modelName: "tiny" });
});

test("calls of connections beyond the limit are unavailable, and counted", async () => {
  const { client, server } = await serveGrpc({ limits: { maxConnections: 1 } });
  await client.infer(rawRequest([[1, 2]]));
  const second = new TestClient(server.grpcUrl ?? "");
  await expect(second.infer(rawRequest([[1, 2]]))).rejects.toMatchObject({
    code: status.UNAVAILABLE,
    details: "expected at most 1 connections",
  });
  const counted = server.metricLines().flatMap((one) => {
    return one.kind === "sample" && one.labels["reason"] === "no room" ? [one.value] : [];
  });
  expect(counted).toEqual([1]);
  await expect(client.infer(rawRequest([[1, 2]]))).resolves.toMatchObject({ modelName: "tiny" });
});

test("connections beyond the limit are closed soon, and those there are stay", async () => {
  const { client, server } = await serveGrpc({ limits: { maxConnections: 1, lingerMs: 20 } });
  await client.infer(rawRequest([[1, 2]]));
  const second = connect(addressOf(server.grpcUrl));
  second.on("error", () => {});
  second.resume();
  await once(second, "close");
  await expect(client.infer(rawRequest([[1, 2]]))).resolves.toMatchObject({ modelName: "tiny" });
});

test("a call whose message does not come is refused after the time for bodies", async () => {
  const { server } = await serveGrpc({ limits: { bodyTimeoutMs: 20 } });
  const session = connectHttp2(`http://${server.grpcUrl}`);
  SESSIONS.push(session);
  const stream = session.request({
    ":method": "POST",
    ":path": `${SERVICE}/ModelInfer`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  // The length of a message, and no more of it.
  stream.write(Buffer.from([0, 0, 0, 1, 0, 0x0a]));
  const [headers] = await once(stream, "response");
  expect(headers["grpc-status"]).toBe(String(status.DEADLINE_EXCEEDED));
});

test("what would find no room is turned away as it comes, and counted once", async () => {
  const harness = await serveGrpc({ limits: { maxPending: 1 } });
  const { client, executor } = harness;
  executor.isHolding = true;
  const running = client.infer(rawRequest([[1, 2]]));
  await executor.ran(1);
  const refused: unknown[] = [];
  for (let index = 0; index < 3; index++) {
    refused.push(await client.infer(rawRequest([[1, 2]])).catch((error) => error.code));
  }
  expect(refused).toEqual(refused.map(() => expect.toBeOneOf([8, 14])));
  while (executor.held.length > 0) executor.finish();
  executor.isHolding = false;
  await running;
  const text = (await call(harness, "/metrics")).body.toString();
  expect(text).toMatch(/^nv_inference_request_failure\{[^}]*reason="REJECTED"[^}]*\} 3$/m);
});

test("a client is told when it may ask again", async () => {
  const { client } = await serveGrpc({}, { ready: false });
  const error = await client.infer(rawRequest([[1, 2]])).catch((reason) => reason);
  expect(error).toMatchObject({ code: status.UNAVAILABLE });
  expect(error.metadata.get("grpc-retry-pushback-ms")).toEqual(["1000"]);
});

test("compressed messages are taken within the limit", async () => {
  const { client } = await serveGrpc();
  const { gzipSync } = await import("node:zlib");
  const { server } = await serveGrpc();
  const session = connectHttp2(`http://${server.grpcUrl}`);
  SESSIONS.push(session);
  const bomb = gzipSync(Buffer.alloc(2 ** 24));
  const stream = session.request({
    ":method": "POST",
    ":path": `${SERVICE}/ModelInfer`,
    "content-type": "application/grpc",
    "grpc-encoding": "gzip",
    te: "trailers",
  });
  const head = Buffer.alloc(5, 1);
  head.writeUInt32BE(bomb.length, 1);
  stream.end(Buffer.concat([head, bomb]));
  const [headers] = await once(stream, "response");
  expect(headers["grpc-status"]).toBe(String(status.RESOURCE_EXHAUSTED));
  await expect(client.infer(rawRequest([[1, 2]]))).resolves.toMatchObject({ modelName: "tiny" });
});

/** Messages that nobody should send: an answer with the path of the field, and the server stays. */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { Rng } from "../../../../runtime/core/rng.ts";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import { call, closeAll } from "../harness.ts";
import { closeClients, rawRequest, SERVICE, serveGrpc, type TestClient } from "./client.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const INFER = `${SERVICE}/ModelInfer`;

function valid(): Uint8Array {
  const request = rawRequest([[1, 2]], { id: "a", outputs: [{ name: "y" }] });
  return toBinary(pb.ModelInferRequestSchema, create(pb.ModelInferRequestSchema, request));
}

async function answerOf(client: TestClient, message: Uint8Array): Promise<number> {
  try {
    await client.bytes(INFER, message);
    return status.OK;
  } catch (error) {
    return (error as { readonly code: number }).code;
  }
}

/** What a request may come to, however it was broken. */
const ALLOWED = [status.OK, status.INVALID_ARGUMENT, status.NOT_FOUND];

test("six hundred broken messages are answered, and the next good one as well", async () => {
  const harness = await serveGrpc();
  const { client } = harness;
  const rng = new Rng(19, 0);
  const draw = (count: number) => Math.floor(rng.nextFloat() * count);
  const whole = valid();
  for (let round = 0; round < 600; round++) {
    const message = Buffer.from(whole);
    const kind = round % 4;
    let broken: Uint8Array = message;
    if (kind === 0) broken = message.subarray(0, draw(message.length));
    else if (kind === 1) message[draw(message.length)] = draw(256);
    else if (kind === 2) broken = Buffer.from(Array.from({ length: draw(64) }, () => draw(256)));
    else {
      const at = draw(message.length);
      const noise = Array.from({ length: 1 + draw(8) }, () => draw(256));
      broken = Buffer.concat([message.subarray(0, at), Buffer.from(noise), message.subarray(at)]);
    }
    const code = await answerOf(client, broken);
    expect(ALLOWED, `round ${round}: ${Buffer.from(broken).toString("hex")}`).toContain(code);
  }
  expect(await answerOf(client, whole)).toBe(status.OK);
  const text = (await call(harness, "/metrics")).body.toString();
  expect(text).toContain('stratagem_requests_in_flight{protocol="grpc"} 0\n');
  expect(text).toContain('stratagem_buffered_bytes{what="requests"} 0\n');
});

/** The message of a request for `tiny` to which fields are added. */
function withFields(add: (writer: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter().tag(1, 2).string("tiny");
  add(writer);
  return writer.finish();
}

function repeated(field: number, count: number, message: Uint8Array): Uint8Array {
  return withFields((writer) => {
    for (let index = 0; index < count; index++) writer.tag(field, 2).bytes(message);
  });
}

const EMPTY = new Uint8Array();
/** An entry of a map of parameters: a name, and no value. */
const ENTRY = new BinaryWriter().tag(1, 2).string("p").finish();
const input = (...fields: Uint8Array[]) =>
  withFields((writer) => {
    const name = new BinaryWriter().tag(1, 2).string("x").tag(2, 2).string("FP32").finish();
    const shape = new BinaryWriter().tag(3, 0).int64(1).tag(3, 0).int64(2).finish();
    writer.tag(5, 2).bytes(Buffer.concat([name, shape, ...fields]));
  });
const contents = (field: number, bytes: Uint8Array) => {
  const message = new BinaryWriter().tag(field, 2).bytes(bytes).finish();
  return new BinaryWriter().tag(5, 2).bytes(message).finish();
};
const nested = (depth: number): Uint8Array =>
  Buffer.concat([Buffer.alloc(depth, 0x7b), Buffer.alloc(depth, 0x7c)]);

const HOSTILE: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["many inputs", repeated(5, 20_000, EMPTY), /^inputs: expected at most 1024, got "more"/],
  ["many outputs", repeated(6, 20_000, EMPTY), /^outputs: expected at most 1024/],
  ["many raw contents", repeated(7, 20_000, EMPTY), /^raw_input_contents: expected at most 1024/],
  ["many parameters", repeated(4, 10_000, ENTRY), /^parameters: expected at most 256/],
  [
    "many unknown fields",
    withFields((one) => one.raw(Buffer.alloc(40_000, Buffer.from([0x78, 0])))),
    /^request: expected at most 16384 fields in a request, got "more"/,
  ],
  [
    "many fields of inputs",
    repeated(5, 600, Buffer.alloc(64, Buffer.from([0x78, 0]))),
    /^inputs\[\d+\]: expected at most 16384 fields in a request/,
  ],
  ["groups in groups", withFields((writer) => writer.raw(nested(2000))), /^request: expected a/],
  ["a group without its end", withFields((one) => one.raw(Buffer.from([0x7b]))), /^request: /],
  ["a name that is not UTF-8", Buffer.from([0x0a, 1, 0xff]), /^request: expected a protobuf/],
  ["a length beyond the end", Buffer.from([0x0a, 0xff, 0xff, 0xff, 0x7f]), /^request: expected/],
  ["field 0", Buffer.from([0x02, 0]), /^request: expected a protobuf message/],
  [
    "floats that end in between",
    input(contents(6, new Uint8Array(7))),
    /^inputs\[0\]\.contents: expected a protobuf message/,
  ],
  [
    "more elements than the shape says",
    input(contents(6, new Uint8Array(40_000))),
    /^inputs\[0\]\.contents\.fp32_contents: expected 2 elements, got "more"/,
  ],
  [
    "elements of another type",
    input(contents(2, new Uint8Array(2))),
    /^inputs\[0\]\.contents\.int_contents: expected nothing in addition to fp32_contents/,
  ],
];

test.each(HOSTILE)("%s", async (_, message, details) => {
  const { client } = await serveGrpc();
  await expect(client.bytes(INFER, message)).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringMatching(details),
  });
  expect(await answerOf(client, valid())).toBe(status.OK);
});

test("a name of a megabyte is not decoded", async () => {
  const grpc = { host: "127.0.0.1", port: 0, maxStreams: 4, maxMessageBytes: 2 ** 21 };
  const { client } = await serveGrpc({ grpc });
  const message = new BinaryWriter()
    .tag(1, 2)
    .bytes(Buffer.alloc(2 ** 20 + 1))
    .finish();
  await expect(client.bytes(INFER, message)).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: 'model_name: expected at most 1048576 bytes of names and parameters, got "more"',
  });
});

test("a parameter called __proto__ is refused as others are", async () => {
  const { client } = await serveGrpc();
  const value = new BinaryWriter()
    .tag(2, 2)
    .bytes(new Uint8Array([8, 1]))
    .finish();
  const entry = Buffer.concat([new BinaryWriter().tag(1, 2).string("__proto__").finish(), value]);
  const message = Buffer.concat([valid(), new BinaryWriter().tag(4, 2).bytes(entry).finish()]);
  expect(await answerOf(client, message)).toBe(status.INVALID_ARGUMENT);
});

test("other messages that are none are refused too", async () => {
  const { client } = await serveGrpc();
  for (const method of ["ModelMetadata", "ModelConfig", "RepositoryIndex", "ServerLive"]) {
    const answer = client.bytes(`${SERVICE}/${method}`, new Uint8Array([0x0a, 0x7f]));
    await expect(answer).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  }
});

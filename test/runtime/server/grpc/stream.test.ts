/** ModelStreamInfer: the order of answers, an error for each message, and the end. */
import { create, toBinary } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import { closeAll, servedBundle } from "../harness.ts";
import {
  closeClients,
  floatsOf,
  messagesOf,
  parameter,
  rawRequest,
  SERVICE,
  serveGrpc,
} from "./client.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const PATH = `${SERVICE}/ModelStreamInfer`;

type Request = Parameters<typeof rawRequest>;

function message(...request: Request): Uint8Array {
  return toBinary(
    pb.ModelInferRequestSchema,
    create(pb.ModelInferRequestSchema, rawRequest(...request)),
  );
}

test("answers come in the order of requests, and errors in their places", async () => {
  const { client } = await serveGrpc();
  const stream = client.duplex(PATH);
  stream.write(message([[1, 2]], { id: "a" }));
  stream.write(message([[1, 2]], { modelName: "none" }));
  stream.write(new Uint8Array([0xff, 0xff, 0xff]));
  stream.write(message([[1, 2]], { parameters: { min_accuracy: parameter(1n) } }));
  stream.write(message([[3, 4]], { id: "b" }));
  stream.end();
  const answers: pb.ModelStreamInferResponse[] = [];
  for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) answers.push(one);
  expect(answers.map(({ inferResponse }) => inferResponse?.id)).toEqual([
    "a",
    undefined,
    undefined,
    undefined,
    "b",
  ]);
  expect(answers[1]?.errorMessage).toMatch(/^Request for unknown model: 'none'/);
  expect(answers[2]?.errorMessage).toMatch(/^request: expected a protobuf message/);
  expect(answers[3]?.errorMessage).toMatch(
    /^parameters: expected only timeout, .*, got "min_accuracy"/,
  );
  expect(floatsOf(answers[4]?.inferResponse?.rawOutputContents[0])).toEqual([3, 4]);
  const final = answers[0]?.inferResponse?.parameters["triton_final_response"];
  expect(final?.parameterChoice).toEqual({ case: "boolParam", value: true });
});

test("an answer that is ready waits for those before it", async () => {
  const bundle = servedBundle();
  const { client, executor } = await serveGrpc({ bundle });
  executor.isHolding = true;
  const stream = client.duplex(PATH);
  stream.write(message([[1, 2]], { id: "first" }));
  await executor.ran(1);
  // Refused at once, and told after the first.
  stream.write(message([[1, 2]], { modelName: "none" }));
  stream.end();
  const told: (string | undefined)[] = [];
  executor.finish();
  for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) {
    told.push(one.inferResponse?.id ?? one.errorMessage.slice(0, 11));
  }
  expect(told).toEqual(["first", "Request for"]);
});

test("a client that asks for strict errors has its stream ended by one", async () => {
  const { client } = await serveGrpc();
  const metadata = new Metadata();
  metadata.set("triton_grpc_error", "true");
  const stream = client.duplex(PATH, metadata);
  stream.write(message([[1, 2]], { modelName: "none" }));
  const read = async () => {
    for await (const _ of messagesOf(pb.ModelStreamInferResponseSchema, stream));
  };
  await expect(read()).rejects.toMatchObject({ code: status.NOT_FOUND });
});

test("many requests on one stream are all answered, more than may wait at a time", async () => {
  const { client } = await serveGrpc({ limits: { maxPipelined: 2 } });
  const stream = client.duplex(PATH);
  const ids = Array.from({ length: 40 }, (_, index) => `r${index}`);
  for (const id of ids) stream.write(message([[1, 2]], { id, modelName: "none" }));
  stream.end();
  let count = 0;
  for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) {
    expect(one.errorMessage).not.toBe("");
    count++;
  }
  expect(count).toBe(ids.length);
});

test("the end of the server ends a stream that is open", async () => {
  const { client, server } = await serveGrpc();
  const stream = client.duplex(PATH);
  const answers = messagesOf(pb.ModelStreamInferResponseSchema, stream);
  stream.write(message([[1, 2]], { id: "a" }));
  expect((await answers.next()).value?.inferResponse?.id).toBe("a");
  const closed = server.close();
  await expect(answers.next()).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await closed;
});

test("what waits for a client that has gone is taken back", async () => {
  const { client, executor } = await serveGrpc();
  executor.isHolding = true;
  const stream = client.duplex(PATH);
  stream.on("error", () => {});
  stream.write(message([[1, 2]]));
  await executor.ran(1);
  stream.cancel();
  executor.finish();
  executor.isHolding = false;
  await expect(client.infer(rawRequest([[7, 8]]))).resolves.toMatchObject({ modelName: "tiny" });
});

test("a stream is answered before the server that stops ends it", async () => {
  const { client, executor, server } = await serveGrpc();
  executor.isHolding = true;
  const stream = client.duplex(PATH);
  const answers = messagesOf(pb.ModelStreamInferResponseSchema, stream);
  for (const id of ["first", "second"]) stream.write(message([[1, 2]], { id }));
  await executor.ran(1);
  const closed = server.close();
  for (const [index, id] of ["first", "second"].entries()) {
    await executor.ran(index + 1);
    executor.finish();
    expect((await answers.next()).value).toMatchObject({ inferResponse: { id } });
  }
  await expect(answers.next()).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await closed;
});

/** Sequences over gRPC, by the calls that Triton's clients make. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { Access } from "../../../../runtime/server/access/access.ts";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import {
  closeClients,
  floatsOf,
  messagesOf,
  parameter,
  rawRequest,
  SERVICE,
  serveGrpc,
} from "../grpc/client.ts";
import { closeAll } from "../harness.ts";
import { summing } from "./accumulator.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

function requestOf(value: number, id: bigint | string, isStart = false, isEnd = false) {
  return rawRequest([[value, 0]], {
    parameters: {
      sequence_id: parameter(id),
      sequence_start: parameter(isStart),
      sequence_end: parameter(isEnd),
    },
  });
}

test("requests of sequences on one stream run in their order, whatever comes between", async () => {
  const { client } = await serveGrpc(summing());
  const stream = client.duplex(`${SERVICE}/ModelStreamInfer`);
  const send = (...request: Parameters<typeof requestOf>) => {
    const message = create(pb.ModelInferRequestSchema, requestOf(...request));
    stream.write(toBinary(pb.ModelInferRequestSchema, message));
  };
  send(1, 7n, true);
  send(10, "seven", true);
  for (let value = 2; value < 50; value++) send(value, 7n);
  send(10, "seven", false, true);
  send(1, "seven");
  send(0, 7n, false, true);
  stream.end();
  const sums: (number | string | undefined)[] = [];
  for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) {
    const { inferResponse, errorMessage } = one;
    sums.push(errorMessage || floatsOf(inferResponse?.rawOutputContents[0])[0]);
  }
  const triangular = Array.from({ length: 49 }, (_, index) => ((index + 1) * (index + 2)) / 2);
  const [first, ...others] = triangular;
  expect(sums.slice(0, 51)).toEqual([first, 10, ...others, 20]);
  expect(sums[51]).toMatch(/^inference request for sequence "seven" to model 'tiny' must specify/);
  expect(sums[52]).toBe(1225);
});

test("one request at a time, with ids that no number holds exactly", async () => {
  const { client } = await serveGrpc(summing());
  const sum = async (...request: Parameters<typeof requestOf>) => {
    const { outputs, rawOutputContents } = await client.infer(requestOf(...request));
    expect(outputs.map(({ name }) => name)).toEqual(["y"]);
    return floatsOf(rawOutputContents[0])[0];
  };
  const large = 2n ** 63n - 1n;
  expect(await sum(1, large, true)).toBe(1);
  expect(await sum(5, large - 1n, true)).toBe(5);
  expect(await sum(2, large, false, true)).toBe(3);
  await expect(client.infer(rawRequest([[1, 0]]))).rejects.toMatchObject({
    details: expect.stringContaining("parameters.sequence_id: expected a whole number"),
  });
});

test("the same id of other clients is another sequence, by a call and on a stream", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-"));
  const tokens = join(folder, "tokens.yaml");
  const entries = ["ann", "bob"].map((name) => {
    const hash = `sha256:${createHash("sha256").update(`secret-${name}`).digest("hex")}`;
    return { name, hash, scopes: ["infer"] };
  });
  writeFileSync(tokens, JSON.stringify(entries));
  try {
    const access = await Access.open({ tokens }, { nowMs: () => 0 });
    const { client } = await serveGrpc(summing({ access }));
    const by = (name: string) => {
      const metadata = new Metadata();
      metadata.set("authorization", `Bearer secret-${name}`);
      return metadata;
    };
    const call = async (name: string, ...request: Parameters<typeof requestOf>) => {
      const answer = await client.infer(requestOf(...request), { metadata: by(name) });
      return floatsOf(answer.rawOutputContents[0])[0];
    };
    expect(await call("ann", 1, 7n, true)).toBe(1);
    await expect(call("bob", 1, 7n)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await call("bob", 5, 7n, true)).toBe(5);
    const stream = client.duplex(`${SERVICE}/ModelStreamInfer`, by("ann"));
    const message = create(pb.ModelInferRequestSchema, requestOf(1, 7n));
    stream.write(toBinary(pb.ModelInferRequestSchema, message));
    stream.end();
    for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) {
      expect(floatsOf(one.inferResponse?.rawOutputContents[0])[0]).toBe(2);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the configuration says that there are sequences", async () => {
  const { client } = await serveGrpc(summing());
  const schemas = [pb.ModelConfigRequestSchema, pb.ModelConfigResponseSchema] as const;
  const { config } = await client.call(`${SERVICE}/ModelConfig`, schemas, { name: "tiny" });
  expect(config?.maxBatchSize).toBe(1);
  expect(config?.schedulingChoice).toMatchObject({
    case: "sequenceBatching",
    value: {
      maxSequenceIdleMicroseconds: 60_000_000n,
      strategyChoice: { case: "oldest", value: { maxCandidateSequences: 4096 } },
      state: [
        { inputName: "sum", outputName: "next", dataType: pb.DataType.TYPE_FP32, dims: [2n] },
      ],
    },
  });
});

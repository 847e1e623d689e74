/** Who may come in by gRPC: tokens in metadata, limits of clients, TLS and certificates. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { type ChannelCredentials, credentials, Metadata, status } from "@grpc/grpc-js";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { Access, type AccessOptions } from "../../../../runtime/server/access/access.ts";
import { SCOPES } from "../../../../runtime/server/access/scopes.ts";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import type { OpenOptions } from "../../../../runtime/server/serve.ts";
import {
  closeClients,
  messagesOf,
  rawRequest,
  SERVICE,
  serveGrpc,
  TestClient,
} from "../grpc/client.ts";
import { closeAll } from "../harness.ts";
import { Authority, HAS_OPENSSL, type Pair } from "./certificates.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-grpc-access-"));
const tokens = join(folder, "tokens.yaml");
const lines = SCOPES.map((scope) => {
  const hash = `sha256:${createHash("sha256").update(`secret-${scope}`).digest("hex")}`;
  return `- ${JSON.stringify({ name: scope, hash, scopes: [scope] })}`;
});
writeFileSync(tokens, `${lines.join("\n")}\n`);

const opened: Access[] = [];
afterEach(async () => {
  closeClients();
  await closeAll();
  for (const access of opened.splice(0)) access.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function served(options: AccessOptions, more: Partial<OpenOptions> = {}) {
  const access = await Access.open(options, { nowMs: () => 0 });
  opened.push(access);
  const admin: OpenOptions["admin"] = {
    reload: async () => ({ isFollowed: true, notice: "read again", applications: [] }),
    config: () => ({}),
    state: () => ({}),
  };
  return { access, ...(await serveGrpc({ access, admin, ...more })) };
}

function bearer(scope: string): { readonly metadata: Metadata } {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer secret-${scope}`);
  return { metadata };
}

const LIVE = [pb.ServerLiveRequestSchema, pb.ServerLiveResponseSchema] as const;
const INDEX = [pb.RepositoryIndexRequestSchema, pb.RepositoryIndexResponseSchema] as const;
const LOAD = [pb.RepositoryModelLoadRequestSchema, pb.RepositoryModelLoadResponseSchema] as const;

describe("tokens", () => {
  test("calls are let in by the scope of what they ask", async () => {
    const { client } = await served({ tokens });
    expect(await client.call(`${SERVICE}/ServerLive`, LIVE, {})).toMatchObject({ live: true });
    const request = rawRequest([[1, 2]]);
    await expect(client.infer(request)).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
      details: "Authorization: expected a bearer token, got none",
    });
    await expect(client.infer(request, bearer("nobody"))).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
    await expect(client.infer(request, bearer("admin"))).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
      details: "expected a token of scope infer, got one of admin",
    });
    expect(await client.infer(request, bearer("infer"))).toMatchObject({ modelName: "tiny" });
    await client.call(`${SERVICE}/RepositoryIndex`, INDEX, {}, bearer("infer"));
    const load = (scope: string) =>
      client.call(`${SERVICE}/RepositoryModelLoad`, LOAD, { modelName: "tiny" }, bearer(scope));
    await expect(load("infer")).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
    await load("admin");
  });

  test("a stream needs one as well", async () => {
    const { client } = await served({ tokens });
    const bytes = toBinary(
      pb.ModelInferRequestSchema,
      create(pb.ModelInferRequestSchema, rawRequest([[1, 2]])),
    );
    const answersOf = async (metadata: Metadata) => {
      const stream = client.duplex(`${SERVICE}/ModelStreamInfer`, metadata);
      stream.write(bytes);
      stream.end();
      const answers: pb.ModelStreamInferResponse[] = [];
      for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) {
        answers.push(one);
      }
      return answers;
    };
    await expect(answersOf(new Metadata())).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
    expect(await answersOf(bearer("infer").metadata)).toHaveLength(1);
  });

  test("administrators with a listener of their own are not served by gRPC", async () => {
    const { client } = await served({ tokens }, { adminAt: { host: "127.0.0.1", port: 0 } });
    const load = client.call(
      ...([`${SERVICE}/RepositoryModelLoad`, LOAD, { modelName: "tiny" }] as const),
      bearer("admin"),
    );
    await expect(load).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });
});

test("the rate of a client counts calls and the messages of its streams", async () => {
  const { client } = await served({ clientRate: 3 });
  const stream = client.duplex(`${SERVICE}/ModelStreamInfer`);
  const bytes = toBinary(
    pb.ModelInferRequestSchema,
    create(pb.ModelInferRequestSchema, rawRequest([[1, 2]])),
  );
  for (let sent = 0; sent < 4; sent++) stream.write(bytes);
  stream.end();
  const told: string[] = [];
  for await (const one of messagesOf(pb.ModelStreamInferResponseSchema, stream)) {
    told.push(one.errorMessage.split(":", 1)[0] ?? "");
  }
  expect(told).toEqual(["", "", "too many requests", "too many requests"]);
  await expect(client.infer(rawRequest([[1, 2]]))).rejects.toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
  });
});

test("calls of a client at the same time are as few as it may have", async () => {
  const { client, executor } = await served({ clientConcurrency: 1 });
  executor.isHolding = true;
  const first = client.infer(rawRequest([[1, 2]]));
  await executor.ran(1);
  await expect(client.infer(rawRequest([[1, 2]]))).rejects.toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
  });
  executor.finish();
  await first;
  executor.isHolding = false;
  await client.infer(rawRequest([[1, 2]]));
});

describe.skipIf(!HAS_OPENSSL)("TLS (needs openssl)", () => {
  const ours = HAS_OPENSSL ? new Authority("ours") : null;
  const theirs = HAS_OPENSSL ? new Authority("theirs") : null;
  afterAll(() => {
    for (const made of [ours, theirs]) if (made !== null) rmSync(made.folder, { recursive: true });
  });

  function clientOf(url: string | undefined, keys: ChannelCredentials): TestClient {
    // Names of servers are no addresses.
    return new TestClient(url ?? "", { "grpc.ssl_target_name_override": "localhost" }, keys);
  }

  function mutual(ca: Buffer, { cert, key }: Pair): ChannelCredentials {
    return credentials.createSsl(ca, readFileSync(key), readFileSync(cert));
  }

  test("calls are encrypted, and plain ones fail", async () => {
    if (ours === null) return;
    const { client, server } = await served({ tls: ours.issue("server") });
    const safe = clientOf(server.grpcUrl, credentials.createSsl(ours.pem));
    expect(await safe.infer(rawRequest([[1, 2]]))).toMatchObject({ modelName: "tiny" });
    await expect(client.infer(rawRequest([[1, 2]]))).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
  });

  test("where clients need certificates, only those of the authority come in", async () => {
    if (ours === null || theirs === null) return;
    const tls = { ...ours.issue("server"), clientCa: ours.cert };
    const { server } = await served({ tls });
    const known = clientOf(server.grpcUrl, mutual(ours.pem, ours.issue("client")));
    expect(await known.infer(rawRequest([[1, 2]]))).toMatchObject({ modelName: "tiny" });
    for (const keys of [
      credentials.createSsl(ours.pem),
      mutual(ours.pem, theirs.issue("stranger")),
    ]) {
      const stranger = clientOf(server.grpcUrl, keys);
      await expect(stranger.infer(rawRequest([[1, 2]]))).rejects.toMatchObject({
        code: status.UNAVAILABLE,
      });
    }
  });
});

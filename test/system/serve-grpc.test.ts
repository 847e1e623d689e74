/** `serve --grpc` through the command line: a real model behind a real client, and the stop. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  closeClients,
  floats,
  floatsOf,
  SERVICE,
  TestClient,
} from "../runtime/server/grpc/client.ts";
import { compileEcho } from "../support/echo-bundle.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-grpc-"));
const bundle = join(folder, "bundle.msgpack");
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => void compileEcho(folder), 60_000);

afterAll(() => {
  closeClients();
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const ANY_PORT = ["--http", "127.0.0.1:0", "--json"];

async function serve(...flags: string[]) {
  const child = startStratagem("serve", "--policy", bundle, ...ANY_PORT, ...flags);
  running.push(child);
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  return { child, ready: JSON.parse(text) as { url: string; grpcUrl?: string } };
}

function request(rows: readonly (readonly number[])[]) {
  return {
    modelName: "echo",
    inputs: [{ name: "x", datatype: "FP32", shape: [BigInt(rows.length), 3n] }],
    rawInputContents: [floats(rows.flat())],
  };
}

test("the model answers over gRPC, and SIGTERM ends the server with 0", async () => {
  const { child, ready } = await serve("--grpc", "127.0.0.1:0");
  expect(ready.grpcUrl).toMatch(/^127\.0\.0\.1:\d+$/);
  const client = new TestClient(ready.grpcUrl ?? "");
  const answer = await client.infer(
    request([
      [1, 2, 3],
      [4, 5, 6],
    ]),
  );
  expect(answer.rawOutputContents.map(floatsOf)).toEqual([[1, 2, 3, 4, 5, 6]]);
  expect(answer.parameters["variant"]?.parameterChoice.value).toBe("small");
  // A stream that is open does not hold the stop up.
  const stream = client.duplex(`${SERVICE}/ModelStreamInfer`);
  stream.on("error", () => {});
  await client.bytes(`${SERVICE}/ServerLive`, new Uint8Array());
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test("a gRPC port that is taken is told, and HTTP is not left open", async () => {
  const { ready } = await serve("--grpc", "127.0.0.1:0");
  const taken = stratagem("serve", "--policy", bundle, ...ANY_PORT, "--grpc", ready.grpcUrl ?? "");
  expect(taken.status).toBe(65);
  expect(taken.stderr).toMatch(
    /^RUNTIME_LISTEN .*the address is in use; choose another with --grpc/,
  );
});

test("without --grpc there is no gRPC, and nothing of its library is loaded", async () => {
  const { ready } = await serve();
  expect(ready.grpcUrl).toBeUndefined();
  const url = (file: string) => pathToFileURL(join("runtime/dist", file)).href;
  const script = `
    import { createRequire } from "node:module";
    const { cache } = createRequire(import.meta.url);
    const loaded = () => Object.keys(cache).filter((file) => file.includes("@grpc")).length;
    await import("${url("commands/serve.js")}");
    const before = loaded();
    await import("${url("server/grpc/grpc.js")}");
    console.log(JSON.stringify([before, loaded() > 0]));
  `;
  const out = execFileSync(process.execPath, ["--input-type=module", "-e", script]);
  expect(JSON.parse(out.toString())).toEqual([0, true]);
});

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { identityModel } from "../support/onnx-model.js";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-serve-"));
const bundle = join(folder, "bundle.msgpack");
const running: ReturnType<typeof startStratagem>[] = [];

beforeAll(() => {
  const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const spec = {
    version: 1,
    application: "echo",
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 2 },
    tasks: [
      {
        name: "classify",
        variants: [{ name: "small", profile: "profile.json#small", model: "identity.onnx" }],
      },
    ],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  writeFileSync(join(folder, "identity.onnx"), identityModel(3));
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(folder, "app.json"), JSON.stringify(spec));
  expect(stratagem("compile", join(folder, "app.json"), "-o", bundle).stderr).toBe("");
});

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Starts a server on any port and waits until it says where. */
async function serve(): Promise<{ url: string; child: ReturnType<typeof startStratagem> }> {
  const child = startStratagem("serve", "--policy", bundle, "--http", "127.0.0.1:0", "--json");
  running.push(child);
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("\n}")) break;
  }
  return { url: JSON.parse(text).url, child };
}

test("answers by the models of the bundle, drains on SIGTERM and ends with 0", async () => {
  const { url, child } = await serve();
  const body = {
    id: "q1",
    inputs: [{ name: "x", datatype: "FP32", shape: [2, 3], data: [1, 2, 3, 4, 5, 6] }],
  };
  const reply = await fetch(`${url}/v2/models/echo/infer`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({
    id: "q1",
    parameters: { variant: "small", accuracy: 0.7 },
    outputs: [{ name: "y", datatype: "FP32", shape: [2, 3], data: [1, 2, 3, 4, 5, 6] }],
  });
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test("says so when the port is taken, and the first server goes on", async () => {
  const { url } = await serve();
  const { host } = new URL(url);
  const { status, stderr } = stratagem("serve", "--policy", bundle, "--http", host);
  expect(status).toBe(65);
  expect(stderr).toMatch(/^RUNTIME_LISTEN /);
  expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
});

test("bench measures a running server from the outside", async () => {
  const { url } = await serve();
  const out = stratagem(
    "bench",
    url,
    "--poisson",
    "100",
    "--duration",
    "1s",
    "--slo",
    "5s",
    "--json",
  );
  expect(out.status).toBe(0);
  const { queries, satisfied, late, dropped, byVariant, errors } = JSON.parse(out.stdout);
  expect(queries).toBeGreaterThan(50);
  expect(satisfied + late + dropped).toBe(queries);
  expect(byVariant.small.queries).toBe(queries);
  expect(errors).toEqual({});
});

test.each<[string, string[], RegExp]>([
  ["an address that is none", ["--http", "nowhere"], /^RUNTIME_USAGE expected --http HOST:PORT/],
  ["a folder without the models", ["--models", tmpdir()], /^RUNTIME_MODEL .*identity\.onnx/],
  ["a device that is absent", ["--device", "cuda"], /^RUNTIME_DEVICE .*cuda/m],
])("refuses %s", (_, flags, message) => {
  const { status, stderr } = stratagem("serve", "--policy", bundle, ...flags);
  expect(stderr).toMatch(message);
  expect([64, 65]).toContain(status);
});

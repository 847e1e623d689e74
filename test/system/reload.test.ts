/** Bundles of other models are followed by a server that runs, by the name of one application. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StartedServer } from "../../runtime/host/start-server.ts";
import { identityModel, meanModel } from "../support/onnx-model.ts";
import { stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-reload-"));
const notices: string[] = [];
let server: StartedServer;

/** Writes an application and its bundle. @returns path of the bundle. */
function compiled(application: string, width: number, model = identityModel(width)): string {
  const own = join(folder, application);
  mkdirSync(own, { recursive: true });
  const variants = { small: { accuracy: 0.7, latencyMs: { 1: 10 } } };
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const variant = { name: "small", profile: "profile.json#small", model: "model.onnx" };
  const spec = {
    version: 1,
    application,
    slo: { latency: "5 s" },
    workload: { loads: [10], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [{ name: `classify-${application}`, variants: [variant] }],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  writeFileSync(join(own, "model.onnx.new"), model);
  renameSync(join(own, "model.onnx.new"), join(own, "model.onnx"));
  writeFileSync(join(own, "profile.json"), JSON.stringify(profile));
  writeFileSync(join(own, "app.json"), JSON.stringify(spec));
  const bundle = join(own, "bundle.msgpack");
  expect(stratagem("compile", join(own, "app.json"), "-o", bundle).stderr).toBe("");
  return bundle;
}

beforeAll(async () => {
  // Workers are compiled files.
  const built: typeof import("../../runtime/host/start-server.ts") = await import(
    resolve("runtime/dist/host/start-server.js")
  );
  const policy = [compiled("first", 3), compiled("second", 3)];
  const limits = { drainTimeoutMs: 5000 };
  const onNotice = (notice: string) => void notices.push(notice);
  server = await built.startServer({ policy, standby: 0, meansCheck: false, limits, onNotice });
  await server.started;
}, 60_000);

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function answer(application: string, width: number): Promise<unknown> {
  const data = Array.from({ length: width }, (_, at) => at);
  const inputs = [{ name: "x", datatype: "FP32", shape: [1, width], data }];
  const reply = await fetch(`${server.url}/v2/models/${application}/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs }),
  });
  const told = (await reply.json()) as { outputs?: { data: unknown }[]; error?: string };
  return told.outputs?.[0]?.data ?? told.error;
}

test("another model under the same name of its file takes over", async () => {
  expect(await answer("first", 3)).toEqual([0, 1, 2]);
  compiled("first", 4);
  const { isFollowed, notice } = await server.reload("first");
  expect([isFollowed, notice]).toEqual([true, expect.stringContaining("on new workers: it has")]);
  expect(await answer("first", 4)).toEqual([0, 1, 2, 3]);
  expect(await answer("second", 3)).toEqual([0, 1, 2]);
  const { sha256 } = server.served[0] ?? {};
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain(`sha256="${sha256}"`);
});

test("what there is not is told, and nothing changes", async () => {
  const unknown = await server.reload("third");
  expect(unknown).toEqual({
    applications: [],
    isFollowed: false,
    notice: "unknown application third, expected one of first, second",
  });
  const { sha256 } = server.served[1] ?? {};
  const model = join(folder, "second", "model.onnx");
  compiled("second", 5);
  writeFileSync(model, meanModel(3, 3));
  const { isFollowed, notice } = await server.reload("second");
  expect([isFollowed, notice]).toEqual([false, expect.stringContaining("expected the model")]);
  expect(await answer("second", 3)).toEqual([0, 1, 2]);
  expect(server.served[1]?.sha256).toBe(sha256);
});

test("names that are gone are told, and answered 404", async () => {
  const other = compiled("other", 3);
  renameSync(join(folder, "other", "model.onnx"), join(folder, "first", "model.onnx"));
  renameSync(other, join(folder, "first", "bundle.msgpack"));
  const { isFollowed, notice } = await server.reload("classify-first");
  const gone = expect.stringContaining("; requests for first, classify-first are answered 404");
  expect([isFollowed, notice]).toEqual([true, gone]);
  expect(await answer("first", 4)).toMatch(/unknown model/);
  expect(await answer("other", 3)).toEqual([0, 1, 2]);
});

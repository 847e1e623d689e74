/** `capacity` of the committed policies by simulation, and of a running server. */
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { meanModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-capacity-test-"));
const bundle = join(folder, "bundle.msgpack");
let server: ReturnType<typeof startStratagem>;
let url: string;

const SPEC = {
  version: 1,
  application: "means",
  slo: { latency: "200 ms" },
  workload: { loads: [20, 40], arrivals: { process: "poisson" } },
  cluster: { workers: 1 },
  tasks: [
    {
      name: "mean",
      variants: [{ name: "small", profile: "profile.json#small", model: "model.onnx" }],
    },
  ],
  policy: { method: "ramsis", maxQueue: 8 },
};
const times = { p50: 1, p95: 1.5, p99: 2, mean: 1.1 };
const PROFILE = {
  format: "latency-profile/1",
  hardware: "test",
  variants: { small: { accuracy: 0.7, latencyMs: { 1: times, 2: times } } },
};

beforeAll(async () => {
  writeFileSync(join(folder, "model.onnx"), meanModel(4, 2));
  writeFileSync(join(folder, "app.json"), JSON.stringify(SPEC));
  writeFileSync(join(folder, "profile.json"), JSON.stringify(PROFILE));
  expect(stratagem("compile", join(folder, "app.json"), "-o", bundle).status).toBe(0);
  const serve = ["serve", "--policy", bundle, "--models", folder, "--http", "127.0.0.1:0"];
  server = startStratagem(...serve, "--json");
  url = await urlOf(server);
}, 60_000);

afterAll(async () => {
  server.kill("SIGTERM");
  await once(server, "exit");
  rmSync(folder, { recursive: true });
});

test.each(readdirSync("policies"))(
  "of policies/%s is found by simulation",
  (name) => {
    const { status, stdout } = stratagem("capacity", `policies/${name}/bundle.msgpack`, "--json");
    expect(status).toBe(0);
    const { holdsQps, failsQps, confidence } = JSON.parse(stdout);
    expect(confidence).toBe(0.99);
    expect(holdsQps).toBeGreaterThan(0);
    expect(failsQps).toBeGreaterThan(holdsQps);
  },
  120_000,
);

test("of a server is found by sending load, with what the server states", () => {
  const run = stratagem("capacity", url, "--duration", "15s", "--json");
  expect(run.status).toBe(0);
  const found = JSON.parse(run.stdout);
  expect(found).toMatchObject({ model: "means", sloMs: 200, limit: 0.01, isInterrupted: false });
  expect(found.samples).toBeGreaterThan(1000);
  expect(found.seconds).toBeLessThan(30);
  expect(found.estimateQps).toBeGreaterThan(40);
  expect(found.holdsQps ?? 0).toBeLessThanOrEqual(found.estimateQps);
}, 60_000);

test("an interrupt ends the load quietly, with what is known", async () => {
  const child = startStratagem("capacity", url, "--duration", "60s", "--json");
  let stderr = "";
  let stdout = "";
  child.stderr?.on("data", (text) => (stderr += String(text)));
  child.stdout?.on("data", (text) => (stdout += String(text)));
  const before = await sentTo(url);
  while ((await sentTo(url)) < before + 3000)
    await new Promise((resolve) => setTimeout(resolve, 100));
  child.kill("SIGINT");
  const [code] = await once(child, "exit");
  expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ model: "means", isInterrupted: true });
}, 60_000);

test("a server that states no SLO needs one", () => {
  const { status, stderr } = stratagem("capacity", "http://127.0.0.1:9", "--duration", "5s");
  expect([status, stderr.includes("expected --slo for http://127.0.0.1:9")]).toEqual([64, true]);
});

async function sentTo(at: string): Promise<number> {
  const text = await (await fetch(`${at}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("stratagem_queries_total"));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

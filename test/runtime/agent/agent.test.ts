/** The contract of a worker, over HTTP, with the processes that run its models. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentWith, modelFolder, type TestedAgent } from "./built-agent.ts";

const folder = modelFolder("m", "other");
let agent: TestedAgent;
let client: TestedAgent["client"];

beforeAll(async () => {
  agent = await agentWith({ models: folder, load: ["m"] });
  client = agent.client;
});

afterAll(() => agent.close());

/** Holds the process of the model, so that what it is sent stays there until it goes on. */
function held(): { readonly goOn: () => void; readonly kill: () => void } {
  const pid = agent.pids().get("m");
  if (pid === undefined) throw new Error("the model has no process");
  process.kill(pid, "SIGSTOP");
  return {
    goOn: () => void process.kill(pid, "SIGCONT"),
    kill: () => void process.kill(pid, "SIGKILL"),
  };
}

/** A batch that computes until the process goes on, and one that waits behind it. */
async function runningAndWaiting(
  id: string,
  headers: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>> = {},
) {
  const running = client.infer("m", { id: `${id}-runs`, headers: before });
  await client.untilMetric('stratagem_agent_batches{state="running"}', 1);
  const gone = new AbortController();
  const waiting = client.infer("m", { id, headers, signal: gone.signal });
  await client.untilMetric('stratagem_agent_batches{state="waiting"}', 1);
  return { running, waiting, gone };
}

describe("what it says of itself", () => {
  test("is a v2 server that has its models, and makes no batches of its own", async () => {
    const { json: server } = await client.get("/v2");
    expect(server.extensions).toEqual(
      expect.arrayContaining(["model_repository", "binary_tensor_data", "stratagem_worker"]),
    );
    expect((await client.get("/v2/health/ready")).status).toBe(200);
    const { json: metadata } = await client.get("/v2/models/m");
    const tensor = { datatype: "FP32", shape: [-1, 4] };
    expect(metadata).toMatchObject({
      name: "m",
      inputs: [{ name: "x", ...tensor }],
      outputs: [{ name: "y", ...tensor }],
    });
    const { json: config } = await client.get("/v2/models/m/config");
    expect(config.max_batch_size).toBe(0);
    expect(config).not.toHaveProperty("dynamic_batching");
    expect(config).not.toHaveProperty("sequence_batching");
    const { json: worker } = await client.get("/v2/stratagem/worker");
    expect(worker).toMatchObject({ name: "w1", pool: null, cores: 1, device: "cpu" });
    expect(worker).toMatchObject({ provider: "cpu", running: 0 });
    expect(worker.models).toEqual([
      { name: "m", sha256: metadata.parameters.sha256, state: "ready" },
    ]);
  });

  test("tells nothing of models that it has not loaded, but that they can be", async () => {
    expect(await client.get("/v2/models/other")).toMatchObject({ status: 404 });
    expect(await client.get("/v2/models/other/ready")).toMatchObject({ status: 404 });
    const { json: index } = await client.post("/v2/repository/index", {});
    expect(index).toMatchObject([
      { name: "m", state: "READY" },
      { name: "other", state: "UNAVAILABLE", reason: "it is not loaded" },
    ]);
    expect(await client.get("/v2/models/..%2Fm")).toMatchObject({ status: 404 });
    expect(await client.infer("other", {})).toMatchObject({ status: 404 });
  });
});

describe("a batch", () => {
  test("is answered by what the model gives, with the times of the run", async () => {
    const rows = [1, 2, 3, 4, 5, 6, 7, 8];
    const { status, json, binary, headers } = await client.infer("m", { id: "once", rows });
    expect(status).toBe(200);
    expect(json).toMatchObject({ model_name: "m", id: "once" });
    expect(json.outputs).toEqual([
      { name: "y", datatype: "FP32", shape: [2, 4], parameters: { binary_data_size: 32 } },
    ]);
    expect([...new Float32Array(binary.buffer)]).toEqual(rows);
    expect(Number(headers.get("stratagem-wall-ms"))).toBeGreaterThan(0);
    expect(Number(headers.get("stratagem-cpu-ms"))).toBeGreaterThanOrEqual(0);
  });

  test("runs once: its id is refused afterwards", async () => {
    const runs = async () => (await client.get("/v2/models/m/stats")).json.model_stats[0];
    expect((await client.infer("m", { id: "twice" })).status).toBe(200);
    const { execution_count: before } = await runs();
    const again = await client.infer("m", { id: "twice" });
    expect(again).toMatchObject({ status: 409 });
    expect(again.json.error).toContain("already");
    expect((await runs()).execution_count).toBe(before);
  });

  test("computes alone; one more waits, and a third is sent away at once", async () => {
    const { goOn } = held();
    const { running, waiting } = await runningAndWaiting("waits", {});
    const third = await client.infer("m", { id: "third" });
    expect(third).toMatchObject({ status: 503 });
    expect(third.headers.get("retry-after")).toBe("0");
    expect(third.headers.get("connection")).not.toBe("close");
    expect((await client.get("/v2/stratagem/worker")).json.running).toBe(1);
    goOn();
    expect(await running).toMatchObject({ status: 200 });
    expect(await waiting).toMatchObject({ status: 200 });
    expect(await client.infer("m", { id: "third" })).toMatchObject({ status: 200 });
  });

  test("is not started after its deadline, and may come again", async () => {
    expect(
      await client.infer("m", { id: "late", headers: { "stratagem-deadline-ms": "0" } }),
    ).toMatchObject({ status: 504 });
    const { goOn } = held();
    const headers = { "stratagem-deadline-ms": "0.001" };
    const { running, waiting } = await runningAndWaiting("late", headers);
    goOn();
    expect(await running).toMatchObject({ status: 200 });
    expect(await waiting).toMatchObject({ status: 504 });
    expect(await client.infer("m", { id: "late" })).toMatchObject({ status: 200 });
  });

  test("that nobody waits for any more gives its place away, and was not run", async () => {
    const { goOn } = held();
    const { running, waiting, gone } = await runningAndWaiting("gone", {});
    gone.abort();
    await expect(waiting).rejects.toThrow();
    await client.untilMetric('stratagem_agent_batches{state="waiting"}', 0);
    goOn();
    expect(await running).toMatchObject({ status: 200 });
    expect(await client.infer("m", { id: "gone" })).toMatchObject({ status: 200 });
  });

  test("is refused with what is wrong with it", async () => {
    const unfit = await client.post("/v2/models/m/infer", { inputs: [] });
    expect(unfit).toMatchObject({ status: 400 });
    expect(unfit.json.error).toContain('expected an input named "x"');
    const lease = await client.infer("m", { headers: { "stratagem-lease": "a" } });
    expect(lease).toMatchObject({ status: 400 });
  });
});

describe("the process of a model", () => {
  test("killed in the middle of a batch is answered with 502 and replaced", async () => {
    const { kill } = held();
    const { running, waiting } = await runningAndWaiting("behind", {});
    kill();
    const lost = await running;
    expect(lost).toMatchObject({ status: 502 });
    // What waited has not begun, so another worker may have it at once.
    expect(await waiting).toMatchObject({ status: 503 });
    expect((await client.get("/v2/health/ready")).status).toBe(200);
    await client.untilReady("m", true);
    // It may have run, so that it never runs again here.
    expect(await client.infer("m", { id: "behind-runs" })).toMatchObject({ status: 409 });
    expect(await client.infer("m", { id: "behind" })).toMatchObject({ status: 200 });
    expect(agent.notices.join()).toContain("m: its process ended");
  });
});

describe("models", () => {
  test("come and go by the repository extension, by their digest where it is stated", async () => {
    expect(await client.load("other", { cores: "2" })).toMatchObject({ status: 200 });
    expect(await client.infer("other", {})).toMatchObject({ status: 200 });
    const { json: index } = await client.post("/v2/repository/index", { ready: true });
    expect(index.map((one: { readonly name: string }) => one.name)).toEqual(["m", "other"]);
    const pid = agent.pids().get("other");
    const { sha256 } = (await client.get("/v2/models/other")).json.parameters;
    expect(await client.load("other", { sha256, cores: 2 })).toMatchObject({ status: 200 });
    expect(agent.pids().get("other")).toBe(pid);
    const wrong = await client.load("other", { sha256: "0".repeat(64) });
    expect(wrong).toMatchObject({ status: 400 });
    expect(wrong.json.error).toContain(`expected a file with SHA-256 ${"0".repeat(64)}, got`);
    expect(await client.unload("other")).toMatchObject({ status: 200 });
    expect(await client.unload("other")).toMatchObject({ status: 400 });
    expect(await client.infer("other", {})).toMatchObject({ status: 404 });
  });

  test("that are none are refused, and those that serve go on", async () => {
    writeFileSync(join(folder, "broken.onnx"), "no model");
    const broken = await client.load("broken");
    expect(broken).toMatchObject({ status: 400 });
    expect(broken.json.error).toContain("failed to load 'broken'");
    const { json: worker } = await client.get("/v2/stratagem/worker");
    expect(worker.models).toContainEqual({ name: "broken", sha256: null, state: "unavailable" });
    expect(await client.infer("m", {})).toMatchObject({ status: 200 });
    expect(await client.load("m", { fast: 1 })).toMatchObject({ status: 400 });
    expect(await client.load("none")).toMatchObject({ status: 400 });
  });
});

// Last, because the epoch that it saw stays.
describe("leases", () => {
  test("of before are refused, also of a batch that waits and of who loads", async () => {
    const at = (lease: string) => ({ "stratagem-lease": lease });
    expect(await client.infer("m", { headers: at("a/5") })).toMatchObject({ status: 200 });
    const { goOn } = held();
    const { running, waiting } = await runningAndWaiting("fenced", at("a/5"), at("a/5"));
    expect(await client.infer("m", { headers: at("b/6") })).toMatchObject({ status: 503 });
    goOn();
    // It ran before there was another.
    expect(await running).toMatchObject({ status: 200 });
    expect(await waiting).toMatchObject({ status: 409 });
    expect(await client.infer("m", { headers: at("a/5") })).toMatchObject({ status: 409 });
    expect(await client.infer("m", { headers: at("a/6") })).toMatchObject({ status: 409 });
    expect(await client.load("other", {}, at("a/5"))).toMatchObject({ status: 409 });
    expect(await client.infer("m", { id: "fenced", headers: at("b/6") })).toMatchObject({
      status: 200,
    });
    expect((await client.get("/v2/stratagem/worker")).json.epoch).toBe(6);
  });
});

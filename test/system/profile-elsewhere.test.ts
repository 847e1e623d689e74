/** Profiles of models that run on workers of other machines: our own agents, as they ship. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { agentWith, modelFolder, type TestedAgent } from "../runtime/agent/built-agent.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { identityModel } from "../support/onnx-model.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const FOLDER = modelFolder("m", "n");
const QUICK = ["--batches", "1,4", "--repeat", "5", "--force"];

async function agent(options: Parameters<typeof agentWith>[0] = {}): Promise<TestedAgent> {
  const started = await agentWith({ models: FOLDER, ...options });
  closing.push(() => started.close());
  return started;
}

interface Sketch {
  readonly workers?: number | readonly string[];
  readonly models?: string;
  readonly communicationLatency?: string;
}

/** @returns the paths of a spec and of the profile that it names. */
function appWith({ workers = 1, models = FOLDER, communicationLatency }: Sketch) {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-elsewhere-"));
  const [app, profile] = [join(folder, "app.json"), join(folder, "profile.json")];
  const variants = ["m", "n"].map((name, at) => ({
    ...{ name, accuracy: 0.8 + at / 10, model: join(models, `${name}.onnx`) },
    profile: `profile.json#${name}`,
  }));
  const spec = {
    ...{ version: 1, application: "elsewhere", slo: { latency: "200 ms" } },
    workload: { arrivals: { process: "poisson" }, loads: [20] },
    cluster: { workers, ...(communicationLatency === undefined ? {} : { communicationLatency }) },
    ...{ tasks: [{ name: "only", variants }], policy: { method: "ramsis", maxQueue: 4 } },
  };
  writeFileSync(app, JSON.stringify(spec));
  return { app, profile };
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was written.
const jsonAt = (path: string): any => JSON.parse(readFileSync(path, "utf8"));

async function batchesOf({ client }: TestedAgent): Promise<number> {
  const told: string = (await client.get("/metrics")).json;
  const lines = told.split("\n").filter((line) => line.startsWith("nv_inference_exec_count{"));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

test("models of a pool with URLs are measured there, with the way to them", async () => {
  const worker = await agent();
  const { app, profile } = appWith({ workers: [worker.url] });
  const { status, stderr } = await stratagemHere("profile", app, "-o", profile, ...QUICK);
  expect(stderr).not.toContain("INPUT");
  expect(status).toBe(0);
  // Two models at two sizes, five times and at least two to warm up.
  expect(await batchesOf(worker)).toBeGreaterThanOrEqual(28);
  const found = jsonAt(profile);
  expect(found).toMatchObject({ includesWay: true, hardware: `worker ${worker.url}` });
  expect(found.source).toContain(`of ${worker.url}, its way from here included`);
  expect(found.variants.m.latencyMs["4"].samples).toBeGreaterThanOrEqual(5);
  // A worker of another machine is up already.
  expect(found.variants.m).not.toHaveProperty("start");
  const { cells } = jsonAt(`${profile}.measurement.json`);
  const ways = cells.map(
    (cell: { wallMs: { p50: number }; workerMs: { p50: number } }) =>
      cell.wallMs.p50 - cell.workerMs.p50,
  );
  expect(Math.min(...ways)).toBeGreaterThan(0);
  const compiling = ["compile", app, "-o", join(app, "..", "bundle.msgpack")];
  expect((await stratagemHere(...compiling)).status).toBe(0);
});

test("a way that is measured is not stated as well", async () => {
  const worker = await agent();
  const measured = appWith({ workers: [worker.url] });
  await stratagemHere("profile", measured.app, "-o", measured.profile, ...QUICK);
  const { app, profile } = appWith({ workers: [worker.url], communicationLatency: "2 ms" });
  writeFileSync(profile, readFileSync(measured.profile));
  const { status, stderr } = await stratagemHere("compile", app, "-o", `${app}.msgpack`);
  expect(status).toBe(65);
  expect(stderr).toContain("cluster.communicationLatency");
  expect(stderr).toContain("expected auto or 0 ms, since the times of profile.json were measured");
});

test("--workers says which workers are measured, whatever the spec has", async () => {
  const [worker, other] = [await agent(), await agent({ name: "w2" })];
  const { app, profile } = appWith({ workers: [other.url] });
  const asked = ["--workers", worker.url, "--hardware", "cpu of w1"];
  await stratagemHere("profile", app, "-o", profile, ...asked, ...QUICK);
  expect(jsonAt(profile)).toMatchObject({ includesWay: true, hardware: "cpu of w1" });
  expect(await batchesOf(worker)).toBeGreaterThan(0);
  expect(await batchesOf(other)).toBe(0);
});

test("models that the worker does not hold yet are loaded", async () => {
  const worker = await agent({ load: [] });
  const { app, profile } = appWith({ workers: [worker.url] });
  const { status } = await stratagemHere("profile", app, "-o", profile, ...QUICK);
  expect(status).toBe(0);
  expect(worker.document().models.map(({ state }) => state)).toEqual(["ready", "ready"]);
});

test("a worker that is away, or has another file, is named at once", async () => {
  const worker = await agent();
  const { url } = worker;
  const others = mkdtempSync(join(tmpdir(), "stratagem-others-"));
  for (const name of ["m", "n"]) writeFileSync(join(others, `${name}.onnx`), identityModel(5));
  const { app, profile } = appWith({ workers: [url], models: others });
  const other = await stratagemHere("profile", app, "-o", profile, ...QUICK);
  expect(other.status).not.toBe(0);
  expect(other.stderr).toContain(url);
  await worker.close();
  closing.splice(0);
  const { app: own, profile: out } = appWith({ workers: [url] });
  const away = await stratagemHere("profile", own, "-o", out, ...QUICK);
  expect(away.status).toBe(65);
  expect(away.stderr).toContain(`the worker ${url} cannot be used`);
});

test("options that do not go with workers elsewhere are refused", async () => {
  const { app } = appWith({});
  const told = async (...more: string[]) =>
    (await stratagemHere("profile", app, "--dry-run", ...more)).stderr;
  expect(await told("--workers", "10.0.0.7:8000")).toMatch(/^RUNTIME_USAGE --workers: expected /);
  expect(await told("--token", "workers=file")).toMatch(/^RUNTIME_USAGE expected --workers URL/);
  expect(await told("--workers", "http://a:1", "--layers")).toContain("--layers");
});

/** A bundle looks on at a server that runs, which says what it would have decided. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { identityModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-shadow-"));
const at = (name: string) => join(folder, name);
const log: string[] = [];
let child: ReturnType<typeof startStratagem>;
let url = "";

/** @returns the path of its bundle. @param variants with their accuracies; all take next to none. */
function compiled(file: string, application: string, accuracies: Record<string, number>): string {
  const entries = Object.entries(accuracies);
  const variants = Object.fromEntries(
    entries.map(([name, accuracy]) => [name, { accuracy, latencyMs: { 1: 0.01, 2: 0.015 } }]),
  );
  const profile = { format: "latency-profile/1", hardware: "test", variants };
  const spec = {
    version: 1,
    application,
    slo: { latency: "5 s" },
    workload: { loads: [10, 100], arrivals: { process: "poisson" } },
    cluster: { workers: 1 },
    tasks: [
      {
        name: "echo",
        variants: entries.map(([name]) => {
          return { name, profile: `${file}-profile.json#${name}`, model: "model.onnx" };
        }),
      },
    ],
    policy: { method: "ramsis", maxQueue: 4 },
  };
  writeFileSync(at(`${file}-profile.json`), JSON.stringify(profile));
  writeFileSync(at(`${file}.json`), JSON.stringify(spec));
  const bundle = at(`${file}.msgpack`);
  expect(stratagem("compile", at(`${file}.json`), "-o", bundle).stderr).toBe("");
  return bundle;
}

beforeAll(async () => {
  writeFileSync(at("model.onnx"), identityModel(1));
  const served = compiled("served", "echo", { small: 0.7 });
  const shadow = compiled("new", "echo", { small: 0.7, large: 0.9 });
  const where = ["--policy", served, "--shadow", shadow, "--http", "127.0.0.1:0"];
  child = startStratagem("serve", ...where, "--json", "--standby", "0", "--no-means-check");
  child.stderr?.on("data", (data) => void log.push(String(data)));
  url = await urlOf(child);
});

afterAll(() => {
  child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const BODY = JSON.stringify({
  inputs: [{ name: "x", datatype: "FP32", shape: [1, 1], data: [1] }],
});

async function ask(count: number): Promise<void> {
  for (let request = 0; request < count; request++) {
    const reply = await fetch(`${url}/v2/models/echo/infer`, { method: "POST", body: BODY });
    expect([reply.status, await reply.json()]).toMatchObject([200, { model_name: "echo" }]);
  }
}

async function reported() {
  const { applications } = (await (await fetch(`${url}/admin/shadow`)).json()) as {
    applications: Record<string, Record<string, unknown>>[];
  };
  return applications[0] ?? {};
}

test("it says who would have answered instead of whom", async () => {
  await ask(40);
  const told = await vi.waitFor(async () => {
    const report = await reported();
    expect(report["compared"]).toMatchObject({ queries: 40 });
    return report;
  });
  expect(told).toMatchObject({
    application: "echo",
    fault: null,
    served: { queries: 40, accuracyPerSatisfied: expect.closeTo(0.7, 9) },
    shadow: { queries: 40, late: 0, dropped: 0, accuracyPerSatisfied: expect.closeTo(0.9, 9) },
    compared: { sameAnswerer: 0, pairs: [{ served: "small", shadow: "large", queries: 40 }] },
    arrivals: { count: 40 },
  });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const of = (policy: string) => `{model="echo",policy="${policy}",outcome="in-time"} 40`;
  for (const policy of ["served", "shadow"]) {
    expect(metrics).toContain(`stratagem_shadow_policy_queries_total${of(policy)}`);
  }
  expect(metrics).toContain('stratagem_shadow_policy_up{model="echo"} 1');
});

test("arrivals are a trace, and shadow-report simulates both under them", async () => {
  const reply = await fetch(`${url}/admin/shadow/arrivals`);
  expect(reply.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  writeFileSync(at("hour.csv"), Buffer.from(await reply.arrayBuffer()));
  expect(readFileSync(at("hour.csv"), "utf8").split("\n")).toHaveLength(43);
  const trace = ["--trace", at("hour.csv"), "--json"];
  const simulated = stratagem("simulate", at("new.msgpack"), ...trace);
  expect(JSON.parse(simulated.stdout)).toMatchObject({ queries: 40 });

  const { status, stdout, stderr } = stratagem("shadow-report", url, "--json");
  expect([status, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    application: "echo",
    simulated: {
      arrivals: 40,
      serviceTimes: "p95",
      served: { violationRate: 0, accuracyPerSatisfied: expect.closeTo(0.7, 9) },
      shadow: { violationRate: 0, accuracyPerSatisfied: expect.closeTo(0.9, 9) },
    },
  });
  expect(stratagem("shadow-report", url).stdout).toMatch(/accuracy in time +70\.000% +90\.000%/);
  const other = stratagem("shadow-report", url, "--shadow", at("served.msgpack"));
  expect([other.status, other.stderr]).toEqual([64, expect.stringContaining("expected the file")]);
  expect((await fetch(`${url}/admin/shadow/arrivals/other`)).status).toBe(404);
});

test("it is read again with the others", async () => {
  compiled("new", "echo", { small: 0.7, larger: 0.95 });
  const reply = await fetch(`${url}/admin/reload`, { method: "POST", body: "{}" });
  const { notice } = (await reply.json()) as { notice: string };
  expect(notice).toContain("new.msgpack looks on as it is now");
  await ask(3);
  await vi.waitFor(async () => {
    const { shadow } = await reported();
    expect(shadow).toMatchObject({ queries: 3, byVariant: [{}, { variant: "larger" }] });
  });
  compiled("new", "another", { small: 0.7 });
  const refused = await fetch(`${url}/admin/reload`, { method: "POST", body: "{}" });
  expect(await refused.text()).toContain('of application \\"echo\\"');
  expect((await reported())["shadow"]).toMatchObject({ queries: 3 });
});

test("one that cannot look on is refused at the start", () => {
  const serve = ["serve", "--policy", at("served.msgpack"), "--http", "127.0.0.1:0"];
  const other = compiled("other", "another", { small: 0.7 });
  const { status, stderr } = stratagem(...serve, "--shadow", other);
  expect(status).toBe(64);
  expect(stderr).toContain("expected a bundle of an application that is served, echo, got");
});

/** Pipelines whose rows multiply and are gathered, from the spec to a simulation that agrees. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";
import { refusedHere } from "../support/compile-here.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-fanouts-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LATENCIES = {
  detect: { 1: 12, 2: 22, 4: 42 },
  crop: { 1: 2, 2: 3, 4: 5, 8: 9 },
  page: { 1: 1, 2: 2 },
};

/** A page is cut into crops, of which each is named; then all of them are one answer. */
function spec(policy: string, { fanout = "4.3", gather = "all" } = {}): string {
  const profile = policy.includes("themis") ? "cores.json" : "batches.json";
  return `version: 1
application: pages
slo: { latency: 120 ms, percentile: 99 }
workload: { arrivals: { process: poisson }, loads: [60] }
cluster: { pools: [{ name: cores, hardware: cpu, workers: 12, pricePerHour: 0.06 }] }
tasks:
  - name: detect
    variants: [{ name: detect, profile: "${profile}#detect", fanout: ${fanout} }]
    to: [{ task: crop, count: crops }]
  - name: crop
    variants: [{ name: crop, profile: "${profile}#crop" }]
    to: [{ task: page, gather: ${gather} }]
  - name: page
    variants: [{ name: page, profile: "${profile}#page" }]
policy: ${policy}
`;
}

const INFERLINE = "{ method: inferline, margin: 0, sampleDuration: 5 s }";
const THEMIS = "{ method: themis, maxBatch: 8, maxCores: 1 }";

beforeAll(() => {
  const profileOf = (variantOf: (latencyMs: object) => object) => ({
    format: "latency-profile/1",
    hardware: "cpu",
    variants: Object.fromEntries(
      Object.entries(LATENCIES).map(([name, latencyMs]) => [
        name,
        { accuracy: 0.9, ...variantOf(latencyMs) },
      ]),
    ),
  });
  const write = (file: string, profile: object) =>
    writeFileSync(join(folder, file), JSON.stringify(profile));
  write(
    "batches.json",
    profileOf((latencyMs) => ({ latencyMs })),
  );
  write(
    "cores.json",
    profileOf((latencyMs) => ({ byCores: { 1: latencyMs } })),
  );
});

async function compiled(name: string, policy: string, change = {}): Promise<string> {
  const app = join(folder, `${name}.yaml`);
  const bundle = join(folder, `${name}.msgpack`);
  writeFileSync(app, spec(policy, change));
  const { stderr, status } = await stratagemHere("compile", app, "-o", bundle);
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return bundle;
}

describe.each([
  ["inferline", INFERLINE],
  ["themis", THEMIS],
])("rows that multiply, planned by %s", (method, policy) => {
  let bundle = "";

  beforeAll(async () => {
    bundle = await compiled(method, policy);
  });

  test("count with their fan-out, and gathered ones once", async () => {
    const run = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:60",
      "--duration",
      "60s",
      "--json",
    );
    const { queries, byTask } = JSON.parse(run.stdout);
    const perRequest = (task: string) => byTask[task].queries / queries;
    expect(perRequest("detect")).toBeGreaterThan(0.99);
    expect(perRequest("crop")).toBeGreaterThan(4.25);
    expect(perRequest("crop")).toBeLessThan(4.35);
    expect(perRequest("page")).toBeGreaterThan(0.98);
    expect(perRequest("page")).toBeLessThanOrEqual(1);
    expect(byTask.crop.meanBatch).toBeGreaterThan(2);
  });

  test("make a bundle whose promises are found again", async () => {
    const { stdout, status } = await stratagemHere("verify", bundle);
    expect(stdout).toContain("guarantees ok");
    expect(status).toBe(0);
  });
});

describe("rows that are gathered", () => {
  test("in windows leave out what does not fill one", async () => {
    const bundle = await compiled("windows", INFERLINE, { fanout: "5", gather: "2" });
    const run = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:60",
      "--duration",
      "5s",
      "--json",
    );
    const { queries, byTask } = JSON.parse(run.stdout);
    expect(byTask.crop.queries).toBe(5 * queries);
    expect(byTask.page.queries).toBe(2 * queries);
  });

  test.each([
    ["0", /tasks\[1\]\.to\[0\]\.gather: expected a whole number from 1 to 10000, got 0/],
    ["some", /tasks\[1\]\.to\[0\]\.gather: expected all, or a whole number of rows/],
  ])("by %s are refused", async (gather, message) => {
    const app = join(folder, "wrong.yaml");
    writeFileSync(app, spec(INFERLINE, { gather }));
    expect((await refusedHere(app, join(folder, "wrong.msgpack"))).stderr).toMatch(message);
  });

  test("are no matter of loki, which names the methods that gather", async () => {
    const app = join(folder, "tree.yaml");
    writeFileSync(app, spec("{ method: loki, headroom: 0.1 }"));
    expect((await refusedHere(app, join(folder, "tree.msgpack"))).stderr).toMatch(
      /loki does not join rows again that come from "crop" to "page"; inferline and themis do/,
    );
  });
});

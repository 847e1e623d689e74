/** `truth` on a tiny application, end to end: what it prints, keeps and leaves behind. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TruthDocument } from "../../compiler/truth/truth-document.ts";
import { meanModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-truth-test-"));
const app = join(folder, "app.json");
const profile = join(folder, "profile.json");

const SPEC = {
  version: 1,
  application: "means",
  slo: { latency: "1 s" },
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

beforeAll(() => {
  writeFileSync(join(folder, "model.onnx"), meanModel(4, 2));
  writeFileSync(app, JSON.stringify(SPEC));
  writeFileSync(profile, JSON.stringify(PROFILE));
});

afterAll(() => rmSync(folder, { recursive: true }));

test("sends each load, compares, and keeps what it made", () => {
  const out = join(folder, "out");
  const extent = ["--loads", "2", "--duration", "1s"];
  const run = stratagem("truth", app, "--profile", profile, "-o", out, ...extent, "--json");
  expect(run.stderr).toContain("compiles, serves and loads: 2 loads, 1 run of 1 s each");
  const found: TruthDocument = JSON.parse(run.stdout);
  expect(run.status).toBe(found.holds ? 0 : 3);
  expect(found).toMatchObject({ application: "means", method: "ramsis", of: 2 });
  expect(found.latenciesWithout).toEqual(["serving path"]);
  expect(found.points.map(({ loadQps }) => loadQps)).toEqual([20, 40]);
  for (const { queries, measured, predicted, timeline, checks } of found.points) {
    expect(queries).toBeGreaterThan(0);
    expect(timeline[0]?.arrived).toBe(queries);
    expect(predicted.quantilesMs).toHaveLength(101);
    expect(predicted.batches).toBeGreaterThanOrEqual(1000);
    expect(predicted).not.toHaveProperty("intervalsMs");
    const [lower = Number.NaN, upper] = measured.intervalsMs?.p99 ?? [];
    expect(lower).toBeLessThanOrEqual(measured.p99Ms ?? 0);
    expect(upper).toBeNull();
    expect(measured.accuracy ?? 0.7).toBeCloseTo(0.7, 9);
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(["p50", "p99"]));
  }
  expect(JSON.parse(readFileSync(join(out, "truth.json"), "utf8"))).toEqual(found);
  expect(readFileSync(join(out, "truth.html"), "utf8")).toContain("promises hold");
});

test("refuses what is no good before anything starts", () => {
  const none = stratagem("truth", join(folder, "none.yaml"));
  expect([none.status, none.stderr]).toEqual([65, expect.stringContaining("INPUT_UNREADABLE")]);
  const labels = stratagem("truth", app, "--labels", app);
  expect([labels.status, labels.stderr]).toEqual([64, expect.stringContaining("--inputs")]);
});

test.runIf(process.platform === "linux")("a signal ends it, its server and its load", async () => {
  const out = join(folder, "stopped");
  const child = startStratagem("truth", app, "--profile", profile, "-o", out, "--duration", "1min");
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await new Promise<void>((resolve) => {
    let told = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      told += String(chunk);
      if (told.includes("warming up") || told.includes("requests/s")) resolve();
    });
  });
  expect(mentioning(out)).not.toEqual([]);
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  expect(mentioning(out)).toEqual([]);
});

/** Processes whose command line names a path. */
function mentioning(path: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(path);
    } catch {
      return false;
    }
  });
}

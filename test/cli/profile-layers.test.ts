import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readProfile } from "../../compiler/spec/profile.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { withoutProgress } from "../support/progress-lines.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-profile-layers-"));
const app = join(folder, "app.json");
const out = join(folder, "profile.json");

afterAll(() => rmSync(folder, { recursive: true }));

writeFileSync(
  app,
  JSON.stringify({
    version: 1,
    application: "demo",
    slo: { latency: "100 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [1] },
    cluster: { workers: 3 },
    tasks: [
      {
        name: "classify",
        variants: [
          {
            name: "mlp-s",
            accuracy: 0.9,
            profile: "profile.json#mlp-s",
            model: resolve("models/image-classification/mlp-s.onnx"),
          },
        ],
      },
    ],
    policy: { method: "accordion", maxDepth: 3 },
  }),
);

test("cuts a real model into layers, and measures the stages of every depth", async () => {
  // Two runs each: what is checked holds however noisy the machine is.
  const run = await stratagemHere(
    "profile",
    app,
    "-o",
    out,
    "--layers",
    "--repeat",
    "2",
    "--force",
  );
  expect([run.status, withoutProgress(run.stderr)]).toEqual([0, ""]);
  expect(run.stdout).toContain("1 model and ");
  expect(run.stdout).toMatch(/^layer +ms +operators$/m);
  const profile = readProfile(out).variants.get("mlp-s")?.profile;
  const layers = profile?.layers;
  if (profile === undefined || layers == null) throw new Error("a profile has its layers");
  const { layerMs, overheadMs, stages } = layers;
  const whole = profile.rows[0]?.quantiles;
  expect(layerMs.length).toBeGreaterThan(2);
  expect(layerMs.every((ms) => ms > 0)).toBe(true);
  // The time inside the worker and the way there and back are parts of what the caller sees.
  const addedUpMs = layerMs.reduce((sum, ms) => sum + ms, 0);
  expect(addedUpMs + overheadMs).toBeLessThanOrEqual((whole?.p99 ?? 0) * (1 + 1e-5));
  const starts = [...new Set(stages.map(({ from }) => from))];
  expect(stages).toContainEqual(expect.objectContaining({ from: 0, to: layerMs.length }));
  for (const { to } of stages) expect([...starts, layerMs.length]).toContain(to);
  expect(readdirSync(folder).sort()).toEqual([
    "app.json",
    "profile.json",
    "profile.json.measurement.json",
  ]);
});

test("takes neither other batch sizes nor numbers of cores beside layers", async () => {
  const target = join(folder, "none.json");
  const batches = await stratagemHere("profile", app, "-o", target, "--layers", "--batches", "1,2");
  expect(batches.status).toBe(64);
  expect(batches.stderr).toMatch(/^RUNTIME_USAGE expected --batches 1 with --layers, got/);
  const cores = await stratagemHere("profile", app, "-o", target, "--layers", "--cores", "1,2");
  expect(cores.status).toBe(64);
  expect(cores.stderr).toContain("expected one number of --cores with --layers");
  expect(existsSync(target)).toBe(false);
});

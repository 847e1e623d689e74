/** `profile --serving`: a server of a tiny application is measured as it would be in earnest. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readProfile } from "../../compiler/spec/profile.ts";
import { meanModel } from "../support/onnx-model.ts";
import { stratagemIn } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "profile-serving-"));
afterAll(() => rmSync(folder, { recursive: true }));

const APP = `version: 1
application: tiny
slo: { latency: 200 ms }
workload: { arrivals: { process: poisson }, loads: [10, 50] }
cluster: { workers: 1 }
tasks:
  - name: mean
    variants:
      - { name: small, accuracy: 50%, profile: "profile.json#small", model: small.onnx }
      - { name: large, accuracy: 75%, profile: "profile.json#large", model: large.onnx }
policy: { method: ramsis, maxQueue: 8 }
`;

const leftOver = () => readdirSync(tmpdir()).filter((name) => /^stratagem-serving-/.test(name));

test("adds rows that compile into a bundle, and leaves nothing behind", () => {
  const before = leftOver();
  writeFileSync(join(folder, "app.yaml"), APP);
  writeFileSync(join(folder, "small.onnx"), meanModel(64, 16));
  writeFileSync(join(folder, "large.onnx"), meanModel(64, 16));
  const quick = ["--repeat", "5", "--batches", "1,2", "--force"];
  const { status, stderr, stdout } = stratagemIn(
    ...[folder, "profile", "app.yaml", "-o", "profile.json", "--serving", "--json"],
    ...quick,
  );
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  const { serving, servingMeasurement } = JSON.parse(stdout);
  expect(servingMeasurement).toBe("profile.json.serving.json");
  const rows = readProfile(join(folder, "profile.json")).variants.get("small")?.profile.serving;
  expect(rows).toMatchObject({ wireMs: serving.wireMs, contention: serving.contention });
  for (const row of ["requestMs", "batchMs", "answerMs", "wireMs"] as const) {
    expect(rows?.[row].mean, row).toBeGreaterThan(0);
  }
  const seen = JSON.parse(readFileSync(join(folder, "profile.json.serving.json"), "utf8"));
  // What a client waits for is all that the server sees, and more.
  expect(seen.single.roundTripMs.p50).toBeGreaterThan(seen.single.totalMs.p50);
  expect(seen.single.requests).toBeGreaterThan(50);
  expect(seen.many.windows.every(({ failed }: { failed: number }) => failed === 0)).toBe(true);
  const compiled = stratagemIn(folder, "compile", "app.yaml", "-o", "bundle.msgpack");
  expect(compiled.status).toBe(0);
  expect(leftOver()).toEqual(before);
});

test("measures the path alone, into a profile that is there", () => {
  const path = join(folder, "profile.json");
  const { serving: _, ...without } = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify(without));
  const args = ["profile", "app.yaml", "--serving", "profile.json", "--force"];
  const { status, stdout } = stratagemIn(folder, ...args);
  expect(status).toBe(0);
  expect(stdout).toContain("serving path, ms p50/p95/p99: request");
  const { serving, ...rest } = JSON.parse(readFileSync(path, "utf8"));
  expect(serving.contention[0]).toBe(1);
  expect(rest).toEqual(without);
});

test("refuses an application without models in one message", () => {
  const bare = APP.replaceAll(/, model: \w+\.onnx/g, "");
  writeFileSync(join(folder, "bare.yaml"), bare);
  const args = ["profile", "bare.yaml", "--serving", "profile.json"];
  const { status, stderr } = stratagemIn(folder, ...args);
  expect(status).toBe(65);
  expect(stderr).toContain("expected a model, since measuring the serving path needs one");
});

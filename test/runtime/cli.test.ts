import { expect, test } from "vitest";
import { stratagemRuntimeHere } from "../support/cli-here.ts";
import { stratagemRuntime } from "../support/run-cli.ts";

const v1 = "test/fixtures/bundles/v1.msgpack";

test("inspect --json prints one document and nothing else", () => {
  const { status, stdout, stderr } = stratagemRuntime("inspect", v1, "--level", "40", "--json");
  expect([status, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ formatVersion: 1, level: { loadQps: 40 } });
});

test("inspect prints text for people", () => {
  const { status, stdout } = stratagemRuntime("inspect", v1, "--state", "queued=2,slack=0.06s");
  expect(status).toBe(0);
  expect(stdout).toMatch(/^queued 2, slack 60 ms: run small on 2 queries: takes 21 ms/);
});

test("verify ends with 3 for a bundle that is refused", () => {
  const bad = "test/fixtures/bundles/bad-version.msgpack";
  const { status, stdout, stderr } = stratagemRuntime("verify", bad, "--json");
  expect([status, stderr]).toEqual([3, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: "BUNDLE_VERSION" } });
  expect(stratagemRuntime("verify", v1).status).toBe(0);
});

test("inspect ends with 65 for a bundle that is refused, in one line", () => {
  const { status, stdout, stderr } = stratagemRuntime("inspect", "package.json", "--json");
  expect(status).toBe(65);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "BUNDLE_MAGIC" } });
  expect(stderr).toMatch(/^BUNDLE_MAGIC package\.json: [^\n]+\n$/);
});

test.each([
  ["inspect"],
  ["inspect", v1, "--level", "many"],
  ["inspect", v1, "--level", "-5"],
  ["inspect", v1, "--state", "queued=0"],
  ["inspect", v1, "--colour"],
  ["serf"],
])("usage errors end with 64 and without a stack trace: %j %j %j %j", async (...words) => {
  const args = words.filter((word) => word !== undefined);
  const { status, stdout, stderr } = await stratagemRuntimeHere(...args);
  expect([status, stdout]).toEqual([64, ""]);
  expect(stderr).not.toBe("");
  expect(stderr).not.toMatch(/\n\s+at /);
});

import { expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";

const APP = "policies/letters/app.yaml";

test("a dry run needs no file to write, a measurement does", async () => {
  const dry = await stratagemHere("profile", APP, "--dry-run", "--budget", "60s", "--json");
  expect(dry).toMatchObject({ status: 0, stderr: "" });
  expect(JSON.parse(dry.stdout)).toMatchObject({ profile: null, budgetMs: 60_000, runs: 896 });
  const none = await stratagemHere("profile", APP);
  expect(none.status).toBe(64);
  expect(none.stderr).toMatch(/^RUNTIME_USAGE expected -o FILE for the profile, or/);
});

test("a budget is a time with its unit, and none of layers", async () => {
  const bare = await stratagemHere("profile", APP, "--dry-run", "--budget", "60");
  expect(bare.status).toBe(64);
  expect(bare.stderr).toContain("expected 1s to 24 h in s or min, such as 90s");
  const layers = await stratagemHere("profile", APP, "--dry-run", "--budget", "60s", "--layers");
  expect(layers.status).toBe(64);
  expect(layers.stderr).toContain("'--budget <time>' cannot be used with option '--layers'");
});

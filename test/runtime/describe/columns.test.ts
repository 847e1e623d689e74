/** Lines below tables that say what columns mean. */
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { explainedTable } from "../../../runtime/describe/text.ts";
import { methodOf } from "../../../runtime/methods/registry.ts";

test("columns that are not plain English are explained, once for those that mean the same", () => {
  const heads = ["load qps", "violations", "pace", "violations ≤"];
  expect(
    explainedTable([heads, ["1", "0%", "1", "0%"]])
      .split("\n")
      .slice(2),
  ).toEqual([
    "violations, violations ≤: late or dropped; pace: times of batches over the profile's",
  ]);
});

test("rows with headings are explained too", () => {
  const rows = [
    ["", "simulated"],
    ["accuracy/satisfied", "97%"],
  ];
  expect(explainedTable(rows).split("\n").at(-1)).toBe("accuracy/satisfied: of answers in time");
  const named = [
    ["variant", "batch"],
    ["pace", "1"],
  ];
  expect(explainedTable(named)).not.toContain(":");
});

const policies = readdirSync("policies", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe.each(policies)("%s", (name) => {
  test("its levels are explained in one or two lines of 100 columns", async () => {
    const { bundle } = await loadBundle(`policies/${name}/bundle.msgpack`);
    const method = methodOf(bundle);
    const lines = method
      .levelTable(bundle)
      .split("\n")
      .slice(1 + bundle.levels.length);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(2);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
  });
});

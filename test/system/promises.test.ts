import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

test("fresh traffic gives what the committed bundles promise", () => {
  const told = execFileSync("npm", ["run", "-s", "check:promises"], { encoding: "utf8" });
  const lines = told.trim().split("\n");
  expect(lines.length).toBeGreaterThanOrEqual(10);
  for (const line of lines) {
    const [, kept, all] = /: (\d+) of (\d+) figures hold/.exec(line) ?? [];
    expect(kept, line).toBe(all);
  }
}, 1_200_000);

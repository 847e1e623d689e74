/** Commands and options that the last release had answer with what to use instead. */
import { expect, test } from "vitest";
import { removedCommand, removedOption, removedVariable } from "../../runtime/removed.ts";

test("bundles that looked on are simulated on a decision log instead", () => {
  expect(removedCommand("shadow-report")).toContain("simulate NEW --arrivals LOG");
  expect(removedOption("serve", "--shadow")).toContain("simulate NEW --arrivals LOG");
  expect(removedVariable({ STRATAGEM_SHADOW_SHARE: "1%" })).toMatch(/^STRATAGEM_SHADOW_SHARE was/);
});

test("says nothing of names that were never there", () => {
  expect(removedCommand("serve")).toBe(null);
  expect(removedCommand("constructor")).toBe(null);
  expect(removedOption("serve", "--policy")).toBe(null);
  expect(removedOption("compile", "--toString")).toBe(null);
  expect(removedVariable({ STRATAGEM_POLICY: "a.msgpack" })).toBe(null);
});

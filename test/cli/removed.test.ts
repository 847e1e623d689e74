/** Commands and options that the last release had answer with what to use instead. */
import { expect, test } from "vitest";
import { removedCommand, removedOption, removedVariable } from "../../runtime/removed.ts";

test("says nothing of names that were never there", () => {
  expect(removedCommand("serve")).toBe(null);
  expect(removedCommand("constructor")).toBe(null);
  expect(removedOption("serve", "--policy")).toBe(null);
  expect(removedOption("compile", "--toString")).toBe(null);
  expect(removedVariable({ STRATAGEM_POLICY: "a.msgpack" })).toBe(null);
});

test("says what to use instead of --processes", () => {
  const instead = "start more servers, of a cluster or behind a load balancer";
  expect(removedOption("serve", "--processes")).toBe(`serve --processes was removed: ${instead}`);
  expect(removedVariable({ STRATAGEM_PROCESSES: "2" })).toBe(
    `STRATAGEM_PROCESSES was removed: ${instead}`,
  );
});

/** Commands and options that the last release had answer with what to use instead. */
import { expect, test } from "vitest";
import { removedCommand, removedOption, removedVariable } from "../../runtime/removed.ts";
import { stratagemHere, stratagemRuntimeHere } from "../support/cli-here.ts";

test("says nothing of names that were never there", () => {
  expect(removedCommand("serve")).toBe(null);
  expect(removedCommand("constructor")).toBe(null);
  expect(removedOption("serve", "--policy")).toBe(null);
  expect(removedOption("compile", "--toString")).toBe(null);
  expect(removedVariable({ STRATAGEM_POLICY: "a.msgpack" })).toBe(null);
});

test.each([
  ["diff", "gate OLD NEW --show"],
  ["recalibrate", "profile APP --from"],
  ["replay", "explain LOG --replay"],
  ["schema", "schema/application.json"],
  ["token", "keygen --token"],
])("the command %s names what replaces it", async (name, instead) => {
  const { status, stderr } = await stratagemHere(name, "a");
  expect([status, stderr]).toEqual([64, expect.stringContaining(`${name} was removed: `)]);
  expect(stderr).toContain(instead);
});

test("the runtime's commands are told of too", async () => {
  const { status, stderr } = await stratagemRuntimeHere("token", "--name", "ci");
  expect(status).toBe(64);
  expect(stderr).toContain("token was removed: keygen --token");
});

test.each([
  ["compile", "--no-require", "--require none"],
  ["truth", "--seconds", "--duration 10s"],
  ["profile", "--threads", "--cores N"],
  ["manifests", "--no-models", "--models-claim none"],
  ["pull", "--username", "STRATAGEM_REGISTRY_USERNAME"],
  ["report", "--no-frontier", "--frontier none"],
])("%s %s names what replaces it", async (command, flag, instead) => {
  const { status, stderr } = await stratagemHere(command, "a", "-o", "b", flag);
  expect(status).toBe(64);
  expect(stderr).toContain(`${command} ${flag} was removed: `);
  expect(stderr).toContain(instead);
});

/** Who is registered: one method on both sides, in two folders of its own, and put to the test. */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { allMethods, methodOf } from "../../compiler/methods/registry.ts";
import { methodNamed } from "../../runtime/methods/registry.ts";
import { SUBJECTS } from "./subjects.ts";

const names = (await allMethods()).map(({ name }) => name);

test("every registered method has a subject, and no subject is of another", () => {
  expect(SUBJECTS.map(({ method }) => method)).toEqual(names);
});

test.each(names)("%s is one method on both sides, under its own name", async (name) => {
  expect((await methodOf({ method: name })).name).toBe(name);
  expect(methodNamed(name).name).toBe(name);
});

test.each(["compiler/methods", "runtime/methods"])("%s has a folder for each", (room) => {
  const folders = readdirSync(room, { withFileTypes: true }).filter((one) => one.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual([...names].sort());
});

test("a bundle of none of them is refused by the names that there are", () => {
  const expected = names.map((name) => `"${name}"`).join(" or ");
  expect(() => methodNamed("fixed")).toThrow(`method: expected ${expected}, got "fixed"`);
});

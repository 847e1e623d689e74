/** docs/bundle-format.md lists every field as the bundle readers' tables say it. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listedMethods, METHODS, withFields } from "./bundle-fields.ts";

// The lists are written by:
//   WRITE_DOCS=1 npx vitest run test/docs/bundle-format.test.ts
const env: { WRITE_DOCS?: string } = process.env;
const file = "docs/bundle-format.md";

test("the lists of fields are what the tables of the readers say", () => {
  const page = readFileSync(file, "utf8");
  if (env.WRITE_DOCS === "1") writeFileSync(file, withFields(page));
  expect(readFileSync(file, "utf8")).toBe(withFields(page));
});

test("the bundles of all methods are listed, each once", () => {
  expect(listedMethods(readFileSync(file, "utf8")).sort()).toEqual([...METHODS].sort());
});

test("no line of the page is wider than 100 columns", () => {
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

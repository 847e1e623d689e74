/** docs/bundle-format.md lists every field as the bundle readers' tables say it. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readEditions } from "../../lab/release/formats.ts";
import { listedMethods, METHODS, withFields } from "./bundle-fields.ts";
import { wrapped } from "./markdown.ts";

// The lists are written by:
//   WRITE_DOCS=1 npx vitest run test/docs/bundle-format.test.ts
const env: { WRITE_DOCS?: string } = process.env;
const file = "docs/bundle-format.md";

test("the lists of fields are what the tables of the readers say", () => {
  const page = readFileSync(file, "utf8");
  const whole = withEditions(withFields(page));
  if (env.WRITE_DOCS === "1") writeFileSync(file, whole);
  expect(readFileSync(file, "utf8")).toBe(whole);
});

test("the bundles of all methods are listed, each once", () => {
  expect(listedMethods(readFileSync(file, "utf8")).sort()).toEqual([...METHODS].sort());
});

test("no line of the page is wider than 100 columns", () => {
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

/** The page with the keys that each edition of the format added. */
function withEditions(page: string): string {
  const lines = readEditions().flatMap(({ name, date, adds }) => {
    const keys = adds.length === 0 ? "the first" : adds.map((key) => `\`${key}\``).join(", ");
    return wrapped(`- **${name}** (${date}): ${keys}.`);
  });
  return page.replace(
    /(<!-- editions -->\n)[\s\S]*?(<!-- end of editions -->)/,
    (_, begin: string, end: string) => `${begin}\n${lines.join("\n")}\n\n${end}`,
  );
}

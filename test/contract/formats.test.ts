/** Bundles of every edition of the format are kept, never change, and are read. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { FORMATS, pathOf, readEditions } from "../../lab/release/formats.ts";
import { decodeBundle, encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { optionalFieldNames } from "../docs/bundle-fields.ts";
import { plainPayload } from "../support/bundle-fixtures.ts";

const editions = readEditions();
const cases = editions.flatMap((edition) =>
  edition.files.map((file) => ({ path: pathOf(edition, file), sha256: file.sha256 })),
);

describe.each(cases)("$path", ({ path, sha256 }) => {
  const bytes = readFileSync(path);

  test("has not changed since it was written", () => {
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
  });

  test("is read, and written again to the same bytes", () => {
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  });
});

test("every file that lies there is of an edition", () => {
  const lying = readdirSync(FORMATS, { recursive: true, encoding: "utf8" });
  const bundles = lying.filter((name) => name.endsWith(".msgpack"));
  expect(bundles.map((name) => `${FORMATS}/${name}`).sort()).toEqual(
    cases.map(({ path }) => path).sort(),
  );
});

test("every key that may be left out is of one edition", () => {
  const added = editions.flatMap(({ adds }) => adds);
  expect([...added].sort()).toEqual(optionalFieldNames());
});

test("every edition but the first has a file with each key that it adds", () => {
  for (const edition of editions.slice(1)) {
    const keys = new Set(
      edition.files.flatMap((file) => [
        ...keysIn(plainPayload(readFileSync(pathOf(edition, file)))),
      ]),
    );
    expect(
      edition.adds.filter((key) => !keys.has(key)),
      edition.name,
    ).toEqual([]);
  }
});

function keysIn(value: unknown): Set<string> {
  const keys = new Set<string>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null || ArrayBuffer.isView(next)) continue;
    if (!Array.isArray(next)) for (const key of Object.keys(next)) keys.add(key);
    open.push(...Object.values(next));
  }
  return keys;
}

/** Files of every method that are kept: what is read of them, and why others are refused. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allMethods } from "../../compiler/methods/registry.ts";
import { decodeBundle, encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { fixtures } from "../support/bundle-fixtures.ts";

// The files are written by:
//   WRITE_FIXTURES=1 npx vitest run test/contract/fixtures.test.ts
const env: { WRITE_FIXTURES?: string } = process.env;
const names = (await allMethods()).map(({ name }) => name);
const folder = new URL("../fixtures/bundles/", import.meta.url);

for (const [name, { bytes, expected }] of fixtures()) {
  const file = new URL(name, folder);
  if (env.WRITE_FIXTURES === "1") writeFileSync(file, bytes);

  test(`${name} is what the generator still writes`, () => {
    expect(Buffer.compare(readFileSync(file), bytes)).toBe(0);
  });

  test(`${name} is ${typeof expected === "string" ? `refused with ${expected}` : "read"}`, () => {
    const decode = () => decodeBundle(readFileSync(file));
    if (typeof expected !== "string") expect(decode()).toEqual(expected);
    else expect(decode).toThrow(expect.objectContaining({ code: expected }));
  });
}

test.each(names)("%s has a file that is read, and files that are refused", (method) => {
  const own = [...fixtures().values()].filter(({ of }) => of === method);
  const read = own.filter(({ expected }) => typeof expected !== "string");
  const refused = own.map(({ expected }) => expected);
  expect(read.length).toBeGreaterThan(0);
  expect(refused).toEqual(expect.arrayContaining(["BUNDLE_SCHEMA", "BUNDLE_SEMANTICS"]));
  for (const { bytes } of read) {
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  }
});

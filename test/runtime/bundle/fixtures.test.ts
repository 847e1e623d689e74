import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decodeBundle, encodeBundle } from "../../../runtime/checked-bundle.ts";
import { fixtures } from "../../support/bundle-fixtures.ts";

// The files are written by:
//   WRITE_FIXTURES=1 npx vitest run test/runtime/bundle/fixtures.test.ts
const env: { WRITE_FIXTURES?: string } = process.env;
const folder = new URL("../../fixtures/bundles/", import.meta.url);

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

for (const name of [
  "v1.msgpack",
  "classes-v1.msgpack",
  "themis-v1.msgpack",
  "accordion-v1.msgpack",
]) {
  test(`${name} is written again byte for byte`, () => {
    const bytes = readFileSync(new URL(name, folder));
    expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
  });
}

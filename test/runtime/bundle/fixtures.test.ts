import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decodeBundle, encodeBundle } from "../../../runtime/bundle/codec.ts";
import { fixtures } from "../../support/bundle-fixtures.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";

// The files are written by:
//   WRITE_FIXTURES=1 npx vitest run test/runtime/bundle/fixtures.test.ts
const env: { WRITE_FIXTURES?: string } = process.env;
const folder = new URL("../../fixtures/bundles/", import.meta.url);

for (const [name, { bytes, code }] of fixtures()) {
  const file = new URL(name, folder);
  if (env.WRITE_FIXTURES === "1") writeFileSync(file, bytes);

  test(`${name} is what the generator still writes`, () => {
    expect(Buffer.compare(readFileSync(file), bytes)).toBe(0);
  });

  test(`${name} is ${code === null ? "read" : `refused with ${code}`}`, () => {
    const decode = () => decodeBundle(readFileSync(file));
    if (code === null) expect(decode()).toEqual(sampleBundle());
    else expect(decode).toThrow(expect.objectContaining({ code }));
  });
}

test("a file of version 1 is written again byte for byte", () => {
  const bytes = readFileSync(new URL("v1.msgpack", folder));
  expect(Buffer.compare(encodeBundle(decodeBundle(bytes)), bytes)).toBe(0);
});

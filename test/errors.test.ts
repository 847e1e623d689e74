import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMPILER_ERRORS } from "../compiler/errors.ts";
import { RUNTIME_ERRORS } from "../runtime/errors.ts";

const TABLE_ROW = /^\| `([A-Z_]+)` \| (\d+) \| ([^|]+) \|/gm;

test("docs/errors.md lists every error code with its meaning, and no other", () => {
  const page = readFileSync("docs/errors.md", "utf8");
  const documented = Object.fromEntries(
    [...page.matchAll(TABLE_ROW)].map(([, code, , meaning]) => [code, meaning]),
  );
  expect(documented).toEqual({ ...COMPILER_ERRORS, ...RUNTIME_ERRORS });
});

/** Holds docs/errors.md and the tables of errors in the code to the same list. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMPILER_ERRORS } from "../compiler/commands/errors.ts";
import { RUNTIME_ERRORS } from "../runtime/errors.ts";

/** `CODE`, its exit code, its meaning, and what to do; lines are joined before. */
const ENTRY = /^- `([A-Z_]+)`, exit (\d+): (.+?)\. What to do: /gm;

test("docs/errors.md lists every error code with its meaning, and no other", () => {
  const page = readFileSync("docs/errors.md", "utf8").replaceAll("\n  ", " ");
  const documented = Object.fromEntries(
    [...page.matchAll(ENTRY)].map(([, code, , meaning]) => [code, meaning]),
  );
  expect(documented).toEqual({ ...COMPILER_ERRORS, ...RUNTIME_ERRORS });
});

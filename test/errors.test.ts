/**
 * docs/errors.md lists every error code; WRITE_DOCS=1 writes it. Meanings and exit codes come from
 * the code, and the page itself keeps what to do about each.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMPILER_ERRORS } from "../compiler/commands/errors.ts";
import { EXIT_CODE_BY_ERROR, EXIT_CODES, RUNTIME_ERRORS } from "../runtime/base/errors.ts";
import { wrapped } from "./docs/markdown.ts";

const PAGE = "docs/errors.md";
const START = "## Compiling\n";
const SECTIONS = [
  { title: "Compiling", prefixes: ["INPUT_", "COMPILER_"] },
  { title: "Bundles", prefixes: ["BUNDLE_"] },
  { title: "Commands and serving", prefixes: ["RUNTIME_"] },
];
const MEANINGS: Readonly<Record<string, string>> = { ...COMPILER_ERRORS, ...RUNTIME_ERRORS };
const EXITS: Readonly<Record<string, number | string>> = {
  ...EXIT_CODE_BY_ERROR,
  COMPILER_INTERRUPTED: 130,
  COMPILER_STEP: "of the step",
};

test("docs/errors.md lists every error code, as the code has it, with what to do", () => {
  const page = readFileSync(PAGE, "utf8");
  const remedies = remediesOf(page);
  const codes = Object.keys(MEANINGS);
  expect(codes.filter((code) => !remedies.has(code))).toEqual([]);
  const lists = SECTIONS.map(({ title, prefixes }) => {
    const own = codes.filter((code) => prefixes.some((prefix) => code.startsWith(prefix)));
    return `## ${title}\n\n${own.map((code) => entryOf(code, remedies.get(code))).join("")}`;
  });
  const whole = `${page.slice(0, page.indexOf(START))}${lists.join("\n")}`;
  if (process.env["WRITE_DOCS"] !== undefined) writeFileSync(PAGE, whole);
  expect(readFileSync(PAGE, "utf8")).toBe(whole);
});

/** What to do about each code of the page. */
function remediesOf(page: string): Map<string, string> {
  const entries = page
    .replace(/\n? {2,}/g, " ")
    .matchAll(/^- `([A-Z_]+)`, .+? What to do: (.+)$/gm);
  return new Map([...entries].map(([, code = "", remedy = ""]) => [code, remedy]));
}

function entryOf(code: string, remedy = ""): string {
  const first = wrapped(
    `- \`${code}\`, exit ${EXITS[code] ?? EXIT_CODES.badInput}: ${MEANINGS[code]}.`,
  );
  const rest = wrapped(`What to do: ${remedy}`, "  ").map((line) => `  ${line.trim()}`);
  return `${[...first, ...rest].join("\n")}\n`;
}

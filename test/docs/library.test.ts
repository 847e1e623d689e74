/** The examples of docs/library.md run as they are and print what the page says. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Fence, readMarkdown } from "./markdown.ts";

const { fences } = readMarkdown("docs/library.md");
const examples = fences.filter(({ language }) => language === "js");
const folder = mkdtempSync(join(tmpdir(), "stratagem-library-"));
symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("docs/library.md", () => {
  test.each(examples)("the example in line $line prints what it says", (example) => {
    const file = join(folder, `line-${example.line}.mjs`);
    writeFileSync(file, example.lines.join("\n"));
    const printed = execFileSync(process.execPath, [file], { encoding: "utf8" });
    expect(printed.trimEnd()).toBe(outputOf(example));
  });

  test("names all that the package exports, to import and to require", () => {
    const asked = 'console.log(Object.keys(require("stratagem-runtime")).join())';
    const names = execFileSync(process.execPath, ["-e", asked], { encoding: "utf8" });
    const exported = names.trimEnd().split(",");
    expect(exported).toContain("loadBundle");
    const words = new Set(readFileSync("docs/library.md", "utf8").match(/\b\w+\b/g));
    expect(exported.filter((name) => !words.has(name))).toEqual([]);
  });
});

/** The fence after an example. @throws Error if it is no output. */
function outputOf(example: Fence): string {
  const output = fences[fences.indexOf(example) + 1];
  if (output?.language !== "text") throw new Error(`docs/library.md:${example.line}: no output`);
  return output.lines.join("\n");
}

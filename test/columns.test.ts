/** Holds every line that people write to 100 columns: code, comments, messages and pages. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const COLUMNS = 100;

const GENERATED = [
  "compiler/onnx/onnx-pb.ts",
  "docs/app-spec.md",
  "docs/settings.md",
  ...["health", "inference", "reflection"].map((name) => `runtime/server/grpc/pb/${name}-pb.ts`),
];
const NOT_OURS = new Set([".git", ".stratagem", "node_modules", "dist", "coverage"]);
/** A module name cannot be broken, and the formatter leaves it beside the one name it gives. */
const MODULE_NAME = /\bfrom "[^"]+";$|\bimport\("[^"]+"\)/;

test(`no line has more than ${COLUMNS} columns`, () => {
  const files = filesIn(".").filter((file) => !GENERATED.includes(file));
  expect(files.length).toBeGreaterThan(500);
  expect(files.flatMap((file) => longLinesIn(file))).toEqual([]);
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name)) return [];
    const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(path);
    return /\.(ts|js|cjs|md)$/.test(entry.name) ? [path] : [];
  });
}

/** `file:line` of each. */
function longLinesIn(file: string): string[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line, index) =>
    [...line].length > COLUMNS && !MODULE_NAME.test(line) ? [`${file}:${index + 1}`] : [],
  );
}

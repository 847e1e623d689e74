/**
 * Sizes of the tree that must not grow: folders, circles, options, and what one request executes.
 * Limits that are above their goal only fall; `npm run count` prints both.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandOptions } from "../lab/count/options.ts";
import { byFolder, circles, lineCount, slivers, sourcesIn } from "../lab/count/tree.ts";

const MOST_FILES = 25;
const MOST_ROOT_FILES = 3;
const MOST_OPTIONS = 20;
/** Goal: 180. */
const ALL_OPTIONS = 199;
/** Goal: 45 settings of serve, beside --config and --print-config. */
const SERVE_OPTIONS = 45;
/** Goal: 140,000. */
const PRODUCT_LINES = 166_100;
/** Goal: 15. */
const SLIVERS = 43;
/** Lines of stilted English, as the counter beside the reference data counts them. */
const STILTED_LINES = 4673;

const product = sourcesIn("runtime", "compiler");
const all = [...product, ...sourcesIn("kit")];

test("a folder has at most 25 files, and the root of a package 3", () => {
  const folders = [...byFolder(product)];
  const large = folders.filter(([, files]) => files.length > MOST_FILES);
  expect(large.map(([folder]) => folder)).toEqual([]);
  for (const root of ["runtime", "compiler"]) {
    const files = folders.find(([folder]) => folder === root)?.[1] ?? [];
    expect(files.length).toBeLessThanOrEqual(MOST_ROOT_FILES);
  }
});

test("no rooms of the packages import each other in a circle", () => {
  expect(circles(all)).toEqual([]);
});

test("the product does not grow, nor the number of files used once", () => {
  expect(lineCount(product)).toBeLessThanOrEqual(PRODUCT_LINES);
  expect(slivers(all).length).toBeLessThanOrEqual(SLIVERS);
});

test("no command but serve has more than 20 options", () => {
  const commands = commandOptions("compiler/dist/cli.js");
  const counts = Object.fromEntries(commands.map(({ name, options }) => [name, options.length]));
  const { serve = 0, ...others } = counts;
  expect(serve).toBeLessThanOrEqual(SERVE_OPTIONS);
  expect(Object.entries(others).filter(([, count]) => count > MOST_OPTIONS)).toEqual([]);
  const sum = Object.values(counts).reduce((total, count) => total + count, 0);
  expect(sum).toBeLessThanOrEqual(ALL_OPTIONS);
}, 120_000);

const reference = process.env["STRATAGEM_REFERENCE"];
const counter = reference === undefined ? "" : join(reference, "..", "prose.mjs");
const why = "STRATAGEM_REFERENCE names no folder with the counter of stilted English beside it";
const named = existsSync(counter) ? test : test.skip;

named(`stilted lines become fewer (${existsSync(counter) ? "counted" : why})`, () => {
  const told = execFileSync(process.execPath, [counter], { encoding: "utf8" });
  const total = Number(/(\d+) {2}total/.exec(told)?.[1]);
  expect(total).toBeLessThanOrEqual(STILTED_LINES);
});

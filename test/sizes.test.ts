/**
 * Sizes of the tree that must not grow: folders, circles, options, lines, and stilted English.
 * Limits that are above their goal only fall; `npm run count` prints both.
 */
import { expect, test } from "vitest";
import { commandOptions } from "../lab/count/options.ts";
import {
  byFolder,
  circles,
  FEATURES,
  lineCount,
  outside,
  slivers,
  sourcesIn,
} from "../lab/count/tree.ts";

const MOST_FILES = 25;
const MOST_ROOT_FILES = 3;
const MOST_OPTIONS = 20;
/** Goal: 180. */
const ALL_OPTIONS = 180;
/** Files of the server outside a feature's folder that name it. Goal: 3. */
const MOST_NAMING = 3;
/** Goal: 45 settings of serve, beside --config and --print-config. */
const SERVE_OPTIONS = 40;
/** Goal: 140,000. */
const PRODUCT_LINES = 174_755;
/** Goal: 15. */
const SLIVERS = 9;
/** Lines of sources that open a comment without its subject, or use words that style forbids. */
const STILTED_LINES = 1;
const STILTED = [
  /(?:\/\*\*|\/\/|^\s*\*)\s+(?:Of|By|As|Where|Those|Who|Whose|Told|Without|With|What|Such as) /,
  /\b(?:told|tells|telling|nobody|everybody|anybody|whoever)\b/i,
  /\b(?:is none|are none|is to be|are to be|as may|of it that|that there is)\b/,
];

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

test("a feature of the server is named in its folder and in the list of features", () => {
  const server = sourcesIn("runtime");
  for (const [name, pattern, own] of FEATURES) {
    const files = outside(server, pattern, own);
    expect(files.length, `${name}: ${files.join(", ")}`).toBeLessThanOrEqual(MOST_NAMING);
  }
});

test("stilted English becomes less", () => {
  const lines = all.flatMap(({ text }) => text.split("\n"));
  const stilted = STILTED.map((rule) => lines.filter((line) => rule.test(line)).length);
  expect(stilted.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(STILTED_LINES);
});

/** Rules of the house that no linter knows: who may tell methods apart, how files open. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/**
 * Names of methods: a file that is compared with one chooses by it, which is the registry's to do.
 */
const METHODS = readdirSync("compiler/methods", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
/** Folders that ask a registry, by the file that is one. */
const REGISTRIES = new Map([
  ["compiler", "compiler/methods/registry.ts"],
  ["runtime", "runtime/methods/registry.ts"],
]);
/** A scheduler has the name of its method, and is an option of that method alone. */
const OF_THE_METHOD_ITSELF = 'scheduler === "accordion"';

/** Methods of HTTP, and whether two bundles are of one method. */
const OTHER_COMPARISONS = ["runtime/server/http/replies.ts", "runtime/bundle/same-method.ts"];

/** Of a file or, where the file is about one thing, of that thing. */
const OPENS_WITH_A_COMMENT = /^(?:#!.*\n)?\/[*/]/;

const NAME = `["'\`](?:${METHODS.join("|")})["'\`]`;
const COMPARISON = new RegExp(`[!=]==?\\s*${NAME}|${NAME}\\s*[!=]==?|\\bcase\\s+${NAME}`);

test("every method has a folder", () => {
  const five = ["accordion", "inferline", "loki", "ramsis", "themis"];
  expect(METHODS).toEqual(expect.arrayContaining(five));
});

test.each([...REGISTRIES])(
  "nothing in %s compares a method's name but its registry",
  (room, registry) => {
    const found = sourcesOf(room)
      .filter((file) => file !== registry)
      .flatMap((file) => comparisonsIn(file));
    expect(found).toEqual([]);
  },
);

test.each([...REGISTRIES])(
  "nothing in %s chooses by whatever method there is",
  (room, registry) => {
    const found = sourcesOf(room)
      .filter((file) => ![registry, ...OTHER_COMPARISONS].includes(file))
      .filter((file) => /\bmethod\)? (?:===|!==) |switch \([\w.]*\bmethod\)/.test(textOf(file)));
    expect(found).toEqual([]);
  },
);

test.each([...REGISTRIES.keys(), "kit"])("every file of %s opens with what it is for", (room) => {
  const found = sourcesOf(room).filter((file) => !OPENS_WITH_A_COMMENT.test(textOf(file)));
  expect(found).toEqual([]);
});

/** Paths of a package's sources; what was built of them is left out. */
function sourcesOf(room: string): string[] {
  return readdirSync(room, { recursive: true, encoding: "utf8" })
    .map((name) => `${room}/${name.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".ts") && !file.startsWith(`${room}/dist/`));
}

/** `file:line` of each; a comparison may go over two lines. */
function comparisonsIn(file: string): string[] {
  const text = textOf(file);
  const matches = [...text.matchAll(new RegExp(COMPARISON, "g"))].filter(
    ({ index, 0: found }) => !text.slice(0, index + found.length).endsWith(OF_THE_METHOD_ITSELF),
  );
  return matches.map(({ index }) => `${file}:${text.slice(0, index).split("\n").length}`);
}

function textOf(file: string): string {
  return readFileSync(file, "utf8");
}

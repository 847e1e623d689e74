import { join } from "node:path";
import { expect, test } from "vitest";
import { readDocument } from "../../../../compiler/spec/document/document.ts";
import { edited, folderOf, mistakeOf, mistakeOfSpec, PROFILE, SPEC } from "../spec-folder.ts";

function read(text: string) {
  return readDocument(join(folderOf({ "a.yaml": text }), "a.yaml"));
}

function mistake(text: string): string {
  const folder = folderOf({ "a.yaml": text });
  return mistakeOf(folder, () => readDocument(`${folder}/a.yaml`));
}

test("places a value at the line of its key or list item", () => {
  const document = read("a: 1\nb:\n  - c: 2\n  -\n    d: 3\n");
  expect(document.locate(["a"]).line).toBe(1);
  expect(document.locate(["b"]).line).toBe(2);
  expect(document.locate(["b", 0, "c"]).line).toBe(3);
  expect(document.locate(["b", 1, "d"]).line).toBe(5);
});

test("places a missing value where its parent is", () => {
  expect(read("a: 1\nb:\n  c: 2\n").locate(["b", "x", "y"]).line).toBe(2);
});

test("places a value inside an alias at its anchor", () => {
  expect(read("a: &x\n  b: 1\nc: *x\n").locate(["c", "b"]).line).toBe(2);
});

test("reads JSON indented by tabs, Windows line ends and a byte order mark", () => {
  expect(read('\uFEFF{\r\n\t"a": [\r\n\t\t1]\r\n}').value).toEqual({ a: [1] });
});

test("bounds aliases that grow exponentially, and nesting", () => {
  const bomb = [..."bcdefgh"].reduce(
    (text, key, level) => `${text}${key}: &${key} [${`*${"abcdefgh"[level]},`.repeat(9)}]\n`,
    "a: &a [x]\n",
  );
  expect(mistake(bomb)).toBe(
    "INPUT_SYNTAX a.yaml:7:8: expected at most 200000 values, aliases followed, got more",
  );
  for (const text of ["[".repeat(100_000), "- ".repeat(100_000), '{"a":'.repeat(100_000)]) {
    expect(mistake(text)).toMatch(
      /^INPUT_SYNTAX a\.yaml:1:\d{3,4}: expected at most 200 levels of nesting$/,
    );
  }
});

test("refuses a file above the size limit", () => {
  expect(mistake(`a: ${"x".repeat(4 << 20)}`)).toBe(
    "INPUT_UNREADABLE a.yaml: expected a readable file, but larger than 4 MiB",
  );
});

test("refuses keys that are not text", () => {
  expect(mistake("[1]: 2")).toBe(
    "INPUT_SYNTAX a.yaml:1:1: With stringKeys, all keys must be strings",
  );
});

test.each([
  [
    "workers: 4",
    "workers: 4\n  workers: 5",
    "INPUT_SYNTAX app.yaml:9:3: expected different keys in one mapping, got this one twice",
  ],
  [
    "[100, 200]",
    "[100, 200",
    "INPUT_SYNTAX app.yaml:7:1: Flow sequence in block collection must be sufficiently " +
      "indented and end with a ]",
  ],
  [
    "workers: 4",
    "workers: *x",
    "INPUT_SYNTAX app.yaml:8:12: expected the name of an anchor above, got an unknown one",
  ],
  [
    "workers: 4",
    "workers: !!foo 4",
    "INPUT_SYNTAX app.yaml:8:12: Unresolved tag: tag:yaml.org,2002:foo",
  ],
  [
    "application: demo",
    "application: demo\n---\na: 1",
    "INPUT_SYNTAX app.yaml:3:1: expected one document, got a second",
  ],
])("refuses %j made %j", (from, to, message) => {
  expect(mistakeOfSpec(edited(SPEC, from, to), PROFILE)).toBe(message);
});

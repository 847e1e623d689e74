import { join } from "node:path";
import { expect, test } from "vitest";
import { readDocument } from "../../../compiler/spec/document/document.ts";
import { InputError } from "../../../compiler/spec/document/input-error.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { nearest } from "../../../runtime/base/nearest.ts";
import { edited, folderOf, mistakeOf, mistakeOfSpec, PROFILE, SPEC } from "./spec-folder.ts";

// Nothing here waits long where work is bounded: what grew with the square of a file of this size
// ran into the test's time limit.

function mistake(text: string): string {
  const folder = folderOf({ "a.yaml": text });
  return mistakeOf(folder, () => readDocument(join(folder, "a.yaml")));
}

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join("\n");
}

function errorOf(run: () => unknown): InputError {
  try {
    run();
  } catch (error) {
    if (error instanceof InputError) return error;
    throw error;
  }
  throw new Error("expected a refusal");
}

test("reads 25,000 keys of one mapping and finds each", () => {
  const folder = folderOf({ "a.yaml": lines(25_000, (index) => `key${index}: ${index}`) });
  const document = readDocument(join(folder, "a.yaml"));
  for (let index = 0; index < 25_000; index++) {
    expect(document.locate([`key${index}`]).line).toBe(index + 1);
  }
});

test("reports the first 1000 of 25,000 unknown keys, and that there are more", () => {
  const text = `${SPEC}\n${lines(25_000, (index) => `key${index}: ${index}`)}\n`;
  const folder = folderOf({ "app.yaml": text, "profile.json": PROFILE });
  const { message, others } = errorOf(() => loadApplication(join(folder, "app.yaml")));
  expect(message).toContain('key0: unknown key "key0"; allowed are version, application');
  expect(others).toHaveLength(1000);
  expect(others.at(-1)?.message).toMatch(
    /app\.yaml: and more mistakes; at most 1000 are reported$/,
  );
});

test.each([
  ["a million loads", `[${"1,".repeat(1_000_000)}]`],
  ["a million empty lines", "\n".repeat(1_000_000)],
  ["a million list items", "-\n".repeat(1_000_000)],
  ["a million comments", "# x\n".repeat(1_000_000)],
  ["a million quotes", '"'.repeat(1_000_000)],
  ["a hundred thousand tags and more", "!a ".repeat(400_000)],
])("refuses %s at the part that is too many", (_, text) => {
  expect(mistake(text)).toMatch(
    /^INPUT_SYNTAX a\.yaml:\d+:\d+: expected at most 200000 names, values, signs and spaces$/,
  );
});

test("refuses a value of a million characters where it stands", () => {
  expect(mistake(`a: 1\nb: "${"x".repeat(1_000_000)}"\n`)).toMatch(
    /^INPUT_SYNTAX a\.yaml:2:\d: expected a name or value of at most 65536 characters$/,
  );
});

test("resolves 10,000 aliases of as many anchors", () => {
  const anchors = lines(10_000, (index) => `k${index}: &a${index} ${index}`);
  const aliases = lines(10_000, (index) => `l${index}: *a${index}`);
  const folder = folderOf({ "a.yaml": `${anchors}\n${aliases}\n` });
  const document = readDocument(join(folder, "a.yaml"));
  expect(document.value).toHaveProperty("l9999", 9999);
  expect(document.locate(["l9999"]).line).toBe(20_000);
});

test("refuses an alias of what is around it", () => {
  expect(mistake("a: &x [1, *x]")).toBe(
    "INPUT_SYNTAX a.yaml:1:11: expected an anchor that ends above, got one around its alias",
  );
});

test("takes keys such as __proto__ for keys like any other", () => {
  const folder = folderOf({ "a.yaml": '{"__proto__": {"x": 1}, "constructor": 2}' });
  const { value } = readDocument(join(folder, "a.yaml"));
  expect(Object.keys(value as object)).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

test("looks for a slip of the pen among few names and in short words only", () => {
  expect(nearest("x".repeat(65), ["x".repeat(65)])).toBeNull();
  let asked = 0;
  const endless = (function* () {
    for (;;) {
      asked++;
      yield `name${asked}`;
    }
  })();
  expect(nearest("unlike", endless)).toBeNull();
  expect(asked).toBeLessThan(300);
});

test("reads so many characters of expressions in one file", () => {
  const loads = Array.from({ length: 1000 }, (_, index) => `${"1*".repeat(120)}${index + 1}`);
  expect(mistakeOfSpec(edited(SPEC, "[100, 200]", JSON.stringify(loads)), PROFILE)).toMatch(
    /more than 100000 characters of expressions in one file\)$/,
  );
});

test.each([
  ["latency: 150 ms", "latency: 1e300 s", "slo.latency", "at most 1000000 s", '"1e300 s"'],
  ["latency: 150 ms", "latency: 1e-9 ms", "slo.latency", "at least 0.001 ms", '"1e-9 ms"'],
  ["[100, 200]", "[100, 1e300]", "workload.loads[1]", "at most 1000000000 / s", "1e+300"],
  ["[100, 200]", "[1e-320, 200]", "workload.loads[0]", "at least 0.000001 / s", "1e-320"],
])("refuses %s made %s with the limit", (from, to, path, limit, found) => {
  const message = mistakeOfSpec(edited(SPEC, from, to), PROFILE);
  expect(message).toContain(` ${path}: expected `);
  expect(message).toMatch(new RegExp(`, ${limit.replaceAll(".", "\\.")}, got `));
  expect(message).toContain(`got ${found}`);
});

test("refuses a list that is too long with its length", () => {
  const loads = JSON.stringify(Array.from({ length: 10_001 }, (_, index) => index + 1));
  expect(mistakeOfSpec(edited(SPEC, "[100, 200]", loads), PROFILE)).toMatch(
    /workload\.loads: expected a list of rates, at most 10000, got a list of 10001$/,
  );
});

test("refuses times that are complex", () => {
  expect(mistakeOfSpec(edited(SPEC, "latency: 150 ms", "latency: sqrt(-1) ms"), PROFILE)).toMatch(
    /slo\.latency: expected a time above 0 .*, got "sqrt\(-1\) ms" \(.*\)$/,
  );
});

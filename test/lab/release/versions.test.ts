/** One version, said in one place and repeated everywhere; a changelog that says what it has. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { changelogFaults } from "../../../lab/release/changelog.ts";
import { setVersion, versionFaults, versionOf } from "../../../lab/release/versions.ts";

const FILES = [
  ...["package.json", "package-lock.json", "CHANGELOG.md"],
  ...["runtime", "compiler", "kit"].map((workspace) => `${workspace}/package.json`),
  ...["docs/deploy/pod.yaml", "docs/deploy/inference-service.yaml"],
];
const scratch = mkdtempSync(join(tmpdir(), "stratagem-versions-"));
afterAll(() => rmSync(scratch, { recursive: true }));

function copy(name: string): string {
  const root = join(scratch, name);
  for (const file of FILES) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(file, join(root, file));
  }
  return root;
}

test("every place of this repository says the version of package.json", () => {
  expect(versionFaults()).toEqual([]);
});

test("a new version is written everywhere, and nothing else changes", () => {
  const root = copy("set");
  const old = versionOf(root);
  setVersion("7.8.9-rc.1", root);
  expect(versionOf(root)).toBe("7.8.9-rc.1");
  expect(versionFaults(root)).toEqual([]);
  setVersion(old, root);
  for (const file of FILES) {
    expect(readFileSync(join(root, file), "utf8"), file).toBe(readFileSync(file, "utf8"));
  }
});

test("every place that says another version is named", () => {
  const root = copy("faults");
  const old = versionOf(root);
  for (const file of ["compiler/package.json", "docs/deploy/pod.yaml", "package-lock.json"]) {
    const text = readFileSync(join(root, file), "utf8");
    writeFileSync(join(root, file), text.replaceAll(old, "0.0.1"));
  }
  const places = versionFaults(root).map((fault) => fault.split(": expected")[0]);
  expect(places).toEqual([
    "compiler/package.json version",
    "compiler/package.json dependencies.stratagem-runtime",
    "package-lock.json version",
    'package-lock.json packages[""] version',
    ...["runtime", "compiler", "kit"].flatMap((workspace) => [
      `package-lock.json packages["${workspace}"] version`,
      ...(workspace === "compiler"
        ? ['package-lock.json packages["compiler"] dependencies.stratagem-runtime']
        : []),
    ]),
    "docs/deploy/pod.yaml image",
  ]);
});

test.each(["1.2", "v1.2.3", "1.2.3-", "latest", ""])("%j is no version", (text) => {
  expect(() => setVersion(text, copy("none"))).toThrow(/expected a version such as 1\.2\.3/);
});

test("the changelog of this repository says what is new", () => {
  expect(changelogFaults()).toEqual([]);
});

test.each([
  ["## Unreleased\n\n- More.\n", []],
  ["## Unreleased\n\n## 0.0.9 (2026-01-01)\n\n- Less.\n", [/"Unreleased" says nothing/]],
  ["## 0.0.9 (2026-01-01)\n\n- Less.\n", [/expected "Unreleased" or .* found "0\.0\.9/]],
  ["VERSION (2026-11-23)\n\n- More.\n", []],
  ["VERSION\n\n- More.\n", [/expected "Unreleased" or "\S+ \(YYYY-MM-DD\)" first/]],
  ["", [/expected a section "## Unreleased", found none/]],
] as const)("of a changelog %j", (text, faults) => {
  const root = copy("changelog");
  const section = text.replace("VERSION", `## ${versionOf(root)}`);
  writeFileSync(join(root, "CHANGELOG.md"), `# Changelog\n\n${section}`);
  expect(changelogFaults(root)).toEqual(faults.map((fault) => expect.stringMatching(fault)));
});

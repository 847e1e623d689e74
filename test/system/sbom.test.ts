/** Bills of materials by the schema of CycloneDX 1.6. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readLock } from "../../lab/release/lock.ts";
import { sbomOf } from "../../lab/release/sbom.ts";
import { sbomFaults } from "../../lab/release/sbom-check.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-sbom-"));
afterAll(() => rmSync(folder, { recursive: true }));
const lock = readLock();
const tarball = join(folder, "package.tgz");
writeFileSync(tarball, "the bytes of a package");

test.each(["runtime", "compiler", "kit"])("the bill of %s keeps the schema", async (workspace) => {
  const file = join(folder, `${workspace}.cdx.json`);
  writeFileSync(file, sbomOf({ lock, workspace, tarball }));
  expect(await sbomFaults(file)).toEqual([]);
});

test("what the schema forbids is told", async () => {
  const file = join(folder, "bad.cdx.json");
  const bad = { ...JSON.parse(sbomOf({ lock, workspace: "kit", tarball })), version: "one" };
  writeFileSync(file, JSON.stringify(bad));
  expect(await sbomFaults(file)).toEqual([expect.stringMatching(/^bad\.cdx\.json: .*version/)]);
  writeFileSync(file, JSON.stringify({ ...bad, specVersion: "1.4" }));
  expect(await sbomFaults(file)).toEqual([expect.stringMatching(/expected CycloneDX 1\.6/)]);
});

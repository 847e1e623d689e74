/**
 * Bills of materials: whole, and the same every time. Their schema takes seconds to compile, so it
 * is test/system/sbom.test.ts that asks it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { closureOf, readLock } from "../../../lab/release/lock.ts";
import { sbomOf } from "../../../lab/release/sbom.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-sbom-"));
afterAll(() => rmSync(folder, { recursive: true }));
const lock = readLock();
const tarball = join(folder, "package.tgz");
writeFileSync(tarball, "the bytes of a package");
const TARBALL_SHA256 = "96cd7e5760a46d7fe63c8d4688ee2db6061ce375ea11350f8161685f917fe8f6";

interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: string[] }[];
}

interface Component {
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly purl: string;
  readonly scope?: string;
  readonly version: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly unknown[];
}

describe.each(["runtime", "compiler", "kit"])("of %s", (workspace) => {
  const text = sbomOf({ lock, workspace, tarball });
  const bill = JSON.parse(text) as Bill;
  const [own, ...brought] = closureOf(lock, workspace);

  test("is of CycloneDX 1.6", () => {
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" });
    expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f-]{36}$/);
  });

  test("has every package that an install brings, with digest and licence", () => {
    const named = bill.components.map(({ purl }) => decodeURIComponent(purl)).sort();
    expect(named).toEqual(brought.map(({ name, version }) => `pkg:npm/${name}@${version}`).sort());
    const foreign = bill.components.filter(({ name }) => !name.startsWith("stratagem"));
    for (const { hashes, licenses, purl } of foreign) {
      expect(hashes, purl).toEqual([
        { alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) },
      ]);
      expect(licenses, purl).toHaveLength(1);
    }
  });

  test("says of the package itself which bytes it is, and what needs what", () => {
    expect(bill.metadata.component).toMatchObject({ name: own?.name, version: own?.version });
    expect(bill.metadata.component.hashes).toEqual([{ alg: "SHA-256", content: TARBALL_SHA256 }]);
    const needs = bill.dependencies.find(({ ref }) => ref === bill.metadata.component["bom-ref"]);
    expect(needs?.dependsOn).toHaveLength(own?.needs.length ?? -1);
    const known = new Set([
      bill.metadata.component["bom-ref"],
      ...bill.components.map((component) => component["bom-ref"]),
    ]);
    expect(known.size).toBe(bill.components.length + 1);
    const refs = bill.dependencies.flatMap(({ ref, dependsOn = [] }) => [ref, ...dependsOn]);
    expect(refs.filter((ref) => !known.has(ref))).toEqual([]);
  });

  test("is the same twice", () => {
    expect(sbomOf({ lock, workspace, tarball })).toBe(text);
  });
});

/** Packages that an install brings: pinned, of licences that are allowed, and listed. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { licenceFaults, licencesPage } from "../../lab/audit/licences.ts";
import { type LockedPackage, productionPackages, unpinned } from "../../lab/audit/lockfile.ts";

const PAGE = "docs/licences.md";

function brought(license: string | null, name = "one"): LockedPackage[] {
  return [{ name, version: "1.0.0", license, folder: `node_modules/${name}` }];
}

test("every package is pinned by a digest and comes from the registry", () => {
  expect(unpinned()).toEqual([]);
});

test("every licence is allowed, or an exception with its reason", () => {
  expect(licenceFaults()).toEqual([]);
});

test("the page lists every package with its version and licence", () => {
  if (process.env["WRITE_DOCS"] !== undefined) writeFileSync(PAGE, licencesPage());
  expect(readFileSync(PAGE, "utf8")).toBe(licencesPage());
});

test("the lock file says of each package what its own file says", () => {
  // Those for other platforms are left out by the install.
  const packages = productionPackages().filter(({ folder }) => existsSync(folder));
  expect(packages.length).toBeGreaterThan(50);
  for (const { folder, version, license } of packages) {
    const own = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      version: string;
      license?: string;
    };
    expect({ folder, version, license }).toEqual({
      folder,
      version: own.version,
      license: own.license ?? null,
    });
  }
});

test.each(["MIT", "(MIT OR GPL-3.0)", "(Apache-2.0 AND BSD-3-Clause)"])("%s is allowed", (text) => {
  expect(licenceFaults(brought(text))).toEqual([]);
});

test.each(["AGPL-3.0", "(MIT AND GPL-3.0)", "SEE LICENSE IN x", null])("%s is not", (text) => {
  expect(licenceFaults(brought(text))).toEqual([
    expect.stringMatching(/^one 1\.0\.0: expected one of .*MIT/),
  ]);
});

test("an exception is for one licence of one package", () => {
  expect(licenceFaults(brought("GPL-3.0", "glpk.js"))).toEqual([]);
  expect(licenceFaults(brought("AGPL-3.0", "glpk.js"))).toHaveLength(1);
  expect(licenceFaults(brought("GPL-3.0"))).toHaveLength(1);
  expect(licenceFaults(brought("LGPL-3.0-or-later", "@img/sharp-libvips-linux-x64"))).toEqual([]);
  expect(licenceFaults(brought("LGPL-3.0-or-later", "sharp"))).toHaveLength(1);
});

/** What package-lock.json says of the packages that an install brings. */
import { readFileSync } from "node:fs";

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** As its package.json has it: an SPDX expression. */
  readonly license: string | null;
  /** Where it lies, under the root of the repository. */
  readonly folder: string;
}

interface Entry {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
}

const REGISTRY = "https://registry.npmjs.org/";
const MODULES = "node_modules/";

function entriesOf(file: string): [string, Entry][] {
  const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> };
  // Packages of this repository are links to their folders.
  return Object.entries(lock.packages).filter(
    ([folder, { link }]) => folder.includes(MODULES) && link !== true,
  );
}

/** Everything that all packages bring where they are installed, by name and version. */
export function productionPackages(file = "package-lock.json"): LockedPackage[] {
  return entriesOf(file)
    .filter(([, { dev }]) => dev !== true)
    .map(([folder, { version = "", license = null }]) => {
      const name = folder.slice(folder.lastIndexOf(MODULES) + MODULES.length);
      return { name, version, license, folder };
    })
    .sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

/** Packages, those of development too, whose bytes are not pinned or come from somewhere else. */
export function unpinned(file = "package-lock.json"): string[] {
  return entriesOf(file).flatMap(([folder, { integrity, resolved }]) => [
    ...(/^sha512-[\w+/]{86}==$/.test(integrity ?? "")
      ? []
      : [`${folder}: expected a SHA-512 of its bytes, found ${integrity ?? "none"}`]),
    ...(resolved === undefined || resolved.startsWith(REGISTRY)
      ? []
      : [`${folder}: expected a package of the registry, found ${resolved}`]),
  ]);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

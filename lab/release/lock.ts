/** What one of this repository's packages brings where it is installed, by the lock file. */
import { readFileSync } from "node:fs";

/** A package in package-lock.json, or a link to a folder of this repository. */
export interface LockEntry {
  readonly [field: string]: unknown;
  readonly name?: string;
  readonly version?: string;
  /** As its package.json has it: an SPDX expression. */
  readonly license?: string;
  /** `sha512-` and the digest of its tarball in base64. */
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dependencies?: Ranges;
  readonly optionalDependencies?: Ranges;
  readonly peerDependencies?: Ranges;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

type Ranges = Readonly<Record<string, string>>;

export interface Lock {
  /** By folder below the root of the repository; the root itself is "". */
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** Below the root of the repository, such as `node_modules/yaml` or `runtime`. */
  readonly folder: string;
  readonly entry: LockEntry;
  /** Whether an install goes on without it: it is for another platform, say. */
  readonly isOptional: boolean;
  /** Folders of the packages that it asks for. */
  readonly needs: readonly string[];
}

const MODULES = "node_modules/";

/** @throws Error where the file is of another form than npm 7 and later write. */
export function readLock(file = "package-lock.json"): Lock {
  const { packages } = JSON.parse(readFileSync(file, "utf8")) as Partial<Lock>;
  if (packages !== undefined) return { packages };
  throw new Error(`${file}: expected a lock file with packages, as npm 7 and later write it`);
}

/**
 * The package of a workspace first, then all that it brings, by folder.
 * @param workspace its folder, such as "runtime".
 * @throws Error naming a package that is not pinned.
 */
export function closureOf(lock: Lock, workspace: string): PinnedPackage[] {
  const found = new Map<string, PinnedPackage>();
  const open: { readonly folder: string; readonly isOptional: boolean }[] = [
    { folder: workspace, isOptional: false },
  ];
  // What is asked for is appended, and a package that was optional may be asked for in earnest.
  for (const { folder, isOptional } of open) {
    if (found.get(folder)?.isOptional === false || (found.has(folder) && isOptional)) continue;
    const needs = needsOf(lock, folder);
    found.set(folder, {
      ...pinnedAt(lock, folder),
      isOptional,
      needs: needs.map((need) => need.at),
    });
    for (const need of needs)
      open.push({ folder: need.at, isOptional: isOptional || need.isOptional });
  }
  const [own, ...others] = found.values();
  if (own === undefined) throw new Error(`${workspace}: not a package`);
  return [own, ...others.sort((a, b) => (a.folder < b.folder ? -1 : 1))];
}

function pinnedAt(lock: Lock, folder: string): Omit<PinnedPackage, "isOptional" | "needs"> {
  const entry = lock.packages[folder];
  const { name = nameIn(folder), version } = entry ?? {};
  if (entry !== undefined && version !== undefined) return { name, version, folder, entry };
  throw new Error(`package-lock.json: expected a version of ${folder}; run npm install`);
}

function nameIn(folder: string): string {
  const at = folder.lastIndexOf(MODULES);
  return at < 0 ? folder : folder.slice(at + MODULES.length);
}

interface Need {
  readonly at: string;
  readonly isOptional: boolean;
}

function needsOf(lock: Lock, folder: string): Need[] {
  const entry = lock.packages[folder] ?? {};
  const { dependencies, optionalDependencies = {}, peerDependencies = {} } = entry;
  const peers = Object.keys(peerDependencies).filter(
    (name) => entry.peerDependenciesMeta?.[name]?.optional !== true,
  );
  const names = new Set([...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]);
  return [...names].flatMap((name) => {
    const isOptional = name in optionalDependencies;
    const at = lookedUp(lock, folder, name);
    if (at !== null) return [{ at, isOptional }];
    if (isOptional) return [];
    throw new Error(`package-lock.json: expected ${name}, which ${folder} needs; run npm install`);
  });
}

/** As Node looks for it: in the folder, then in each above it. A link leads to its workspace. */
function lookedUp(lock: Lock, from: string, name: string): string | null {
  for (let folder = from; ; folder = above(folder)) {
    const at = `${folder === "" ? "" : `${folder}/`}${MODULES}${name}`;
    const entry = lock.packages[at];
    if (entry !== undefined) return entry.link === true ? (entry.resolved ?? at) : at;
    if (folder === "") return null;
  }
}

function above(folder: string): string {
  const at = folder.lastIndexOf(MODULES);
  return folder.slice(0, Math.max(0, at - 1));
}

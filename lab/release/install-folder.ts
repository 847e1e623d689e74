/** A folder that installs packed packages of ours with exactly what they were tested with. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { closureOf, type Lock, type LockEntry, type PinnedPackage } from "./lock.ts";

export interface Tarball {
  /** The folder of its sources, such as "runtime". */
  readonly workspace: string;
  readonly file: string;
  /** `sha512-` and the digest of its bytes in base64. */
  readonly integrity: string;
}

/** What is the repository's own business, and nobody's who installs. */
const NOT_FOR_INSTALLS = new Set(["dev", "devOptional", "peer", "optional", "devDependencies"]);

/**
 * Writes package.json, package-lock.json and the tarballs into `folder`, where `npm ci` then
 * installs them. @param tarballs packages, none of which asks for a workspace that is not among
 * them.
 */
export function writeInstallFolder(folder: string, lock: Lock, tarballs: readonly Tarball[]): void {
  mkdirSync(folder, { recursive: true });
  const { manifest, pins } = installDocuments(lock, tarballs);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(folder, "package-lock.json"), `${JSON.stringify(pins, null, 2)}\n`);
  for (const { file } of tarballs) copyFileSync(file, join(folder, basename(file)));
}

/** The two documents. @throws Error naming a workspace that is asked for and not there. */
export function installDocuments(
  lock: Lock,
  tarballs: readonly Tarball[],
): { readonly manifest: object; readonly pins: object } {
  const own = new Map(tarballs.map((tarball) => [tarball.workspace, tarball]));
  const brought = merged([...own.keys()].map((workspace) => closureOf(lock, workspace)));
  const packages: Record<string, LockEntry> = {};
  const dependencies: Record<string, string> = {};
  for (const each of brought) {
    const tarball = own.get(each.folder);
    const home = homeOf(lock, each.folder);
    packages[home] = tarball === undefined ? pinOf(each) : ownPinOf(each, tarball);
    if (tarball !== undefined) dependencies[each.name] = `file:${basename(tarball.file)}`;
  }
  const manifest = { name: "installed", private: true, dependencies };
  const root = { name: "installed", dependencies };
  return { manifest, pins: { ...manifestOf(root), packages: { "": root, ...packages } } };
}

function manifestOf({ name }: { readonly name: string }): object {
  return { name, lockfileVersion: 3, requires: true };
}

/** Each package once; one that any of several needs in earnest is not optional. */
function merged(closures: readonly (readonly PinnedPackage[])[]): PinnedPackage[] {
  const all = new Map<string, PinnedPackage>();
  for (const each of closures.flat()) {
    if (all.get(each.folder)?.isOptional !== false) all.set(each.folder, each);
  }
  return [...all.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** Where the install has it: a workspace becomes a package among the others. */
function homeOf(lock: Lock, folder: string): string {
  const workspace = folder.split("/node_modules/")[0] ?? folder;
  if (workspace.startsWith("node_modules/")) return folder;
  const name = lock.packages[workspace]?.name;
  if (name === undefined) throw new Error(`package-lock.json: expected a name of ${workspace}`);
  return `node_modules/${name}${folder.slice(workspace.length)}`;
}

function pinOf({ entry, folder, isOptional }: PinnedPackage): LockEntry {
  if (!folder.includes("node_modules/")) {
    throw new Error(`${folder}: expected a tarball of it, because another package needs it`);
  }
  const kept = Object.entries(entry).filter(([field]) => !NOT_FOR_INSTALLS.has(field));
  return { ...Object.fromEntries(kept), ...(isOptional ? { optional: true } : {}) };
}

function ownPinOf({ entry }: PinnedPackage, { file, integrity }: Tarball): LockEntry {
  const kept = Object.entries(entry).filter(
    ([field]) => field !== "name" && !NOT_FOR_INSTALLS.has(field),
  );
  return { ...Object.fromEntries(kept), resolved: `file:${basename(file)}`, integrity };
}

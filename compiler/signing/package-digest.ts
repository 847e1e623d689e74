/** Computes the digest of an installed package, from the files it was published with. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";

export interface PackageDigest {
  readonly name: string;
  readonly version: string;
  /**
   * SHA-256 of the lines `SHA-256  path` of all files sorted by path, as `sha256sum` prints them.
   * Source: in-toto attestation, digest_set.md, dirHash.
   */
  readonly dirHash: string;
}

interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
}

/**
 * Digests `package.json` and its `files`, so that a built checkout and an installation of its
 * package are equal.
 * @param name of a package that this one can import.
 */
export function packageDigest(name: string): PackageDigest {
  const manifestPath = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const folder = dirname(manifestPath);
  const manifest = JSON.parse(readFileSync(manifestPath, "utf8")) as Manifest;
  const paths = ["package.json", ...manifest.files.flatMap((file) => filesIn(folder, file))];
  return { name, version: manifest.version, dirHash: dirHashOf(folder, paths) };
}

/** @param paths relative to the folder, with forward slashes. */
function dirHashOf(folder: string, paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of [...paths].sort(byBytes)) {
    const digest = createHash("sha256")
      .update(readFileSync(join(folder, path)))
      .digest("hex");
    hash.update(`${digest}  ${path}\n`);
  }
  return hash.digest("hex");
}

/** Returns the file of that name, or all files in the folder of that name. */
function filesIn(folder: string, name: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  const entry = entries.find((one) => one.name === name);
  if (entry?.isDirectory() !== true) return [name];
  const below = readdirSync(join(folder, name), { recursive: true, withFileTypes: true });
  const files = below.filter((one) => one.isFile());
  const prefix = folder.length + 1;
  return files.map((one) => join(one.parentPath, one.name).slice(prefix).replaceAll(sep, "/"));
}

/** Sort order of LC_ALL=C. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Makes all files of a release in one folder: tarballs, bills of materials, images' contexts. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signChecksums, writeChecksums } from "./checksums.ts";
import { buildAndPack } from "./clean-build.ts";
import { type Tarball, writeInstallFolder } from "./install-folder.ts";
import { readLock } from "./lock.ts";
import { sbomOf } from "./sbom.ts";

export interface Release {
  readonly folder: string;
  readonly tarballs: readonly Tarball[];
  /** Of each package, in the order of the tarballs. */
  readonly sboms: readonly string[];
  /** Folders of the images' packages, which Containerfiles copy. */
  readonly contexts: Readonly<Record<ContextName, string>>;
}

export const CONTEXTS = { runtime: ["runtime"], compiler: ["runtime", "compiler"] } as const;
export type ContextName = keyof typeof CONTEXTS;

/**
 * Builds, packs and describes. @param folder is emptied first. @param keyFile signs the list of
 * checksums, where it is not null.
 */
export function makeRelease(folder: string, keyFile: string | null): Release {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const sources = join(folder, "sources");
  const tarballs = buildAndPack({ folder: sources, out: folder });
  rmSync(sources, { recursive: true });
  const sboms = tarballs.map(({ workspace, file }) => {
    const sbom = file.replace(/\.tgz$/, ".cdx.json");
    writeFileSync(sbom, sbomOf({ lock: readLock(), workspace, tarball: file }));
    return sbom;
  });
  const contexts = {
    runtime: writeContext(folder, "runtime", tarballs),
    compiler: writeContext(folder, "compiler", tarballs),
  };
  writeChecksums(folder, [...tarballs.map(({ file }) => file), ...sboms]);
  if (keyFile !== null) signChecksums(folder, keyFile);
  return { folder, tarballs, sboms, contexts };
}

/** What an image installs; it lies apart, since its context is to hold nothing else. */
function writeContext(folder: string, name: ContextName, tarballs: readonly Tarball[]): string {
  const wanted: readonly string[] = CONTEXTS[name];
  const own = tarballs.filter(({ workspace }) => wanted.includes(workspace));
  const context = join(folder, "images", name);
  writeInstallFolder(context, readLock(), own);
  return context;
}

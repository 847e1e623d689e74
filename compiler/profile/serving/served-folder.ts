/** Temporary folder with a bundle and links to the files that it serves. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

interface ServedFiles {
  readonly bundle: Uint8Array;
  /** Files that the bundle references. */
  readonly stages: readonly { readonly file: string; readonly bytes: () => Uint8Array }[];
  /** Paths of models. */
  readonly models: readonly string[];
  /** Path of the spec; modules find files beside it. */
  readonly app: string;
}

interface ServedFolder {
  readonly path: string;
  readonly bundle: string;
  readonly accessLog: string;
}

/** Calls back with the folder and removes it afterwards, also after errors. */
export async function withServedFolder<T>(
  { bundle, stages, models, app }: ServedFiles,
  use: (folder: ServedFolder) => Promise<T>,
): Promise<T> {
  const path = await mkdtemp(join(tmpdir(), "stratagem-serving-"));
  try {
    const served = {
      path,
      bundle: join(path, "bundle.msgpack"),
      accessLog: join(path, "access.log"),
    };
    await writeFile(served.bundle, bundle);
    await writeFile(served.accessLog, "");
    for (const { file, bytes } of stages) await writeFile(join(path, file), bytes());
    for (const model of models) await link(resolve(model), path);
    const folder = dirname(resolve(app));
    for (const name of await readdir(folder)) await link(join(folder, name), path);
    const packages = packagesAbove(folder);
    if (packages !== null) await link(packages, path);
    return await use(served);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

/** An existing file of that name is kept. */
async function link(target: string, folder: string): Promise<void> {
  await symlink(target, join(folder, basename(target))).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** Returns the nearest `node_modules` above a folder. */
function packagesAbove(folder: string): string | null {
  const own = join(folder, "node_modules");
  if (existsSync(own)) return own;
  return dirname(folder) === folder ? null : packagesAbove(dirname(folder));
}

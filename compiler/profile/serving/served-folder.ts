/** A folder of its own with a bundle and links to what it serves, which goes afterwards. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

interface ServedFiles {
  readonly bundle: Uint8Array;
  /** Files that the bundle names beside itself. */
  readonly stages: readonly { readonly file: string; readonly bytes: () => Uint8Array }[];
  /** Paths of models. */
  readonly models: readonly string[];
  /** Path of the spec: what lies beside it can be found by modules. */
  readonly app: string;
}

interface ServedFolder {
  readonly path: string;
  readonly bundle: string;
  readonly accessLog: string;
}

/** Runs something with the folder, which is removed whatever comes of it. */
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

/** What is there under that name stays. */
async function link(target: string, folder: string): Promise<void> {
  await symlink(target, join(folder, basename(target))).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** The nearest folder of packages, as seen from there. */
function packagesAbove(folder: string): string | null {
  const own = join(folder, "node_modules");
  if (existsSync(own)) return own;
  return dirname(folder) === folder ? null : packagesAbove(dirname(folder));
}

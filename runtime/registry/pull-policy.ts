/**
 * Pulls a policy into a folder: all files are downloaded and verified before the first is moved to
 * its name, and the bundle is moved last.
 */

import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { BundleError } from "../base/bundle-error.ts";
import { RuntimeError } from "../base/errors.ts";
import { causeOf } from "../base/http-client.ts";
import type { Bundle } from "../bundle/schema.ts";
import { loadBundle, MAX_BUNDLE_BYTES } from "../bundles/load-bundle.ts";
import { isFileOf } from "../bundles/shipping/part-files.ts";
import { partsOf } from "../bundles/shipping/parts.ts";
import { MAX_SIDECAR_BYTES, SIDECARS, sidecarOf } from "../bundles/shipping/sidecars.ts";
import { type Descriptor, sha256Of } from "./manifest.ts";
import { type PolicyArtifact, policyArtifact } from "./policy-artifact.ts";
import { formatReference } from "./reference.ts";
import type { Registry } from "./registry.ts";
import { registryError } from "./registry-errors.ts";
import { sidecarLayer } from "./sidecar-layers.ts";

/** A file in the folder after a pull. */
export interface PulledFile {
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number;
  /** False if it was already there. */
  readonly wasFetched: boolean;
}

interface PulledPolicy {
  /** Digest of the manifest: `sha256:` and 64 digits. */
  readonly digest: string;
  /** Path of the bundle. */
  readonly path: string;
  readonly bundle: Bundle;
  /** All files, the bundle last. */
  readonly files: readonly PulledFile[];
}

/**
 * Verifies a bundle's signature before anything is decoded; the returned function verifies the
 * decoded bundle. Both throw to reject it.
 */
export type JudgePulled = (
  bundle: Uint8Array,
  envelope: Uint8Array | null,
  place: string,
) => Promise<(bundle: Bundle) => void>;

/** A file to be moved to its name; `from` is null if it is already there. */
interface Arrival extends PulledFile {
  readonly from: string | null;
}

/** Prefix of incomplete files, followed by the digest, so that the next pull can resume. */
const PARTIAL = ".stratagem-partial-";
/** Age at which abandoned incomplete files are removed. */
const ABANDONED_AFTER_MS = 24 * 3_600_000;
const DEFAULT_NAME = "bundle.msgpack";

/**
 * Writes only files that the bundle names, the bundle and its sidecars, all directly in the folder;
 * files that already have the right content stay.
 * @param judge called before models are fetched; omitted to pull without verifying signatures.
 * @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS, RUNTIME_DIGEST, RUNTIME_MODEL,
 * RUNTIME_UNWRITABLE. @throws BundleError for an invalid bundle.
 */
export async function pullPolicy(
  registry: Registry,
  folder: string,
  judge?: JudgePulled,
): Promise<PulledPolicy> {
  const where = formatReference(registry.reference);
  const found = await registry.manifest();
  if (found === null) throw registryError(where, "expected a manifest, got none");
  const artifact = policyArtifact(found.manifest, where);
  await naming(folder, () => makeFolder(folder));
  const pull = new Pull(registry, folder, where);
  const name = artifact.title ?? DEFAULT_NAME;
  const bundleFile = await pull.fetch(name, artifact.bundle, MAX_BUNDLE_BYTES);
  const sidecars = await pull.sidecars(artifact, found.digest, name);
  const signature = sidecars.find(({ file }) => file === sidecarOf(name, "signature"));
  const expectSame = await judge?.(
    await readFile(placeOf(folder, bundleFile)),
    signature === undefined ? null : await readFile(placeOf(folder, signature)),
    where,
  );
  const bundle = await checkedBundle(bundleFile, folder, where);
  expectSame?.(bundle);
  const models = await pull.models(bundle, artifact, name);
  const files = [...models, ...sidecars, bundleFile];
  const gone = SIDECARS.map((sidecar) => sidecarOf(name, sidecar)).filter((file) => {
    return sidecars.every((one) => one.file !== file);
  });
  await naming(folder, () => settle(folder, files, gone));
  const pulled = files.map(({ from: _, ...file }) => file);
  return { digest: found.digest, path: join(folder, name), bundle, files: pulled };
}

class Pull {
  readonly #registry: Registry;
  readonly #folder: string;
  readonly #where: string;
  /** Names of incomplete files in use. */
  readonly #taken = new Set<string>();

  constructor(registry: Registry, folder: string, where: string) {
    this.#registry = registry;
    this.#folder = folder;
    this.#where = where;
  }

  /** @param maxBytes limit of a bundle or sidecar; omitted for models. */
  async fetch(file: string, layer: Descriptor, maxBytes?: number): Promise<Arrival> {
    const { digest, size } = layer;
    if (maxBytes !== undefined && size > maxBytes) {
      const expected = `expected at most ${maxBytes} bytes of ${file}`;
      throw registryError(this.#where, `${expected}, got ${size}`);
    }
    const sha256 = sha256Of(layer);
    const pulled = { file, sha256, bytes: size };
    if (await isFileOf(join(this.#folder, file), sha256)) {
      return { ...pulled, wasFetched: false, from: null };
    }
    const from = join(this.#folder, this.#partialName(sha256));
    await this.#registry.blob(digest, from, { size, resume: true });
    return { ...pulled, wasFetched: true, from };
  }

  /** @throws RuntimeError RUNTIME_MODEL if the artifact lacks a model. */
  async models(bundle: Bundle, { layers }: PolicyArtifact, name: string): Promise<Arrival[]> {
    const own = [name, ...SIDECARS.map((sidecar) => sidecarOf(name, sidecar))];
    const arrivals: Arrival[] = [];
    for (const { file, sha256 } of partsOf(bundle)) {
      const lower = file.toLowerCase();
      if (lower.startsWith(PARTIAL) || own.some((one) => one.toLowerCase() === lower)) {
        throw registryError(
          this.#where,
          `expected model names other than those of the bundle and its sidecars, got "${file}"`,
        );
      }
      const layer = layers.get(sha256);
      if (layer === undefined) {
        const expected = `expected a layer with ${file}, SHA-256 ${sha256}, which the bundle names`;
        throw new RuntimeError("RUNTIME_MODEL", `${this.#where}: ${expected}; push it again`);
      }
      arrivals.push(await this.fetch(file, layer));
    }
    return arrivals;
  }

  async sidecars(artifact: PolicyArtifact, digest: string, name: string): Promise<Arrival[]> {
    const arrivals: Arrival[] = [];
    for (const sidecar of SIDECARS) {
      const layer = await sidecarLayer(this.#registry, artifact, digest, sidecar);
      if (layer === null) continue;
      arrivals.push(await this.fetch(sidecarOf(name, sidecar), layer, MAX_SIDECAR_BYTES));
    }
    return arrivals;
  }

  /** Gives each of two files with the same content its own name. */
  #partialName(sha256: string): string {
    let name = `${PARTIAL}${sha256}`;
    while (this.#taken.has(name)) name = `${name}-again`;
    this.#taken.add(name);
    return name;
  }
}

/** Path of a file before the final renames. */
function placeOf(folder: string, { from, file }: Arrival): string {
  return from ?? join(folder, file);
}

/** Loads the bundle; removes a downloaded one if it is rejected. */
async function checkedBundle(arrival: Arrival, folder: string, where: string): Promise<Bundle> {
  const { from } = arrival;
  const path = placeOf(folder, arrival);
  try {
    return (await loadBundle(path)).bundle;
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    if (from !== null) await rm(from, { force: true });
    throw new BundleError(error.code, `${where}: ${error.message.replace(`${path}: `, "")}`);
  }
}

/** @param gone sidecars of another policy, which would be taken for this one's. */
async function settle(
  folder: string,
  files: readonly Arrival[],
  gone: readonly string[],
): Promise<void> {
  const bundle = files.at(-1);
  for (const arrival of files.slice(0, -1)) await place(folder, arrival);
  for (const file of gone) await rm(join(folder, file), { force: true });
  if (bundle !== undefined) await place(folder, bundle);
  await syncFolder(folder);
  await sweep(folder);
}

async function place(folder: string, { file, sha256, from }: Arrival): Promise<void> {
  if (from === null) return;
  try {
    await rename(from, join(folder, file));
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === "ENOENT";
    // A concurrent pull of the same policy has already moved it.
    if (!isGone || !(await isFileOf(join(folder, file), sha256))) throw error;
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** Makes the renames durable on systems that can open folders. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function sweep(folder: string): Promise<void> {
  const nowMs = Date.now();
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PARTIAL)) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }));
    if (nowMs - mtimeMs > ABANDONED_AFTER_MS) await rm(path, { force: true });
  }
}

async function naming<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const expected = "expected a writable folder";
    throw new RuntimeError("RUNTIME_UNWRITABLE", `${folder}: ${expected}, got: ${causeOf(error)}`);
  }
}

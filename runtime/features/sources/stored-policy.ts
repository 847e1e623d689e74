/** Revisions of one policy in the store: folders that exist completely or not at all. */
import { createHash, randomBytes } from "node:crypto";
import { access, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isShortage } from "../../base/errors.ts";
import { digestOfFile } from "../../bundles/shipping/file-digest.ts";
import { sidecarOf } from "../../bundles/shipping/sidecars.ts";
import type { StoreFiles } from "./store-files.ts";

/** Content of a revision. */
interface RevisionParts {
  readonly bundle: Uint8Array;
  readonly sha256: string;
  readonly envelope: Uint8Array | null;
  readonly provenance: Uint8Array | null;
  readonly application: string;
  /** Name of the source without secrets. */
  readonly source: string;
  readonly validator: string | null;
  /** Milliseconds since 1970. */
  readonly epochMs: number;
  /** Files that the bundle names, with their paths in the store. */
  readonly parts: readonly (NamedFile & { readonly path: string })[];
}

interface NamedFile {
  readonly file: string;
  readonly sha256: string;
}

/** Metadata of a revision, stored in its folder. */
interface RevisionFacts {
  readonly id: string;
  readonly sha256: string;
  readonly envelopeSha256: string | null;
  readonly application: string;
  readonly source: string;
  readonly validator: string | null;
  readonly at: string;
  readonly parts: readonly NamedFile[];
}

export interface Revision extends RevisionFacts {
  /** Path of the bundle. */
  readonly path: string;
}

const VERSION = 1;
const BUNDLE = "bundle.msgpack";
const ENVELOPE = sidecarOf(BUNDLE, "signature");
const PROVENANCE = sidecarOf(BUNDLE, "provenance");
const FACTS = "revision.json";
const CURRENT = "current";
const LAST_GOOD = "last-good";
/** Number of good revisions kept, so that another remains if the disk loses one. */
const MAX_GOOD = 3;
const TEMPORARY = ".new-";
const TEMPORARY_AGE_MS = 3_600_000;
const ENVELOPE_DIGITS = 12;
const ID = /^[0-9a-f]{64}-(?:[0-9a-f]{12}|unsigned)$/;

/** Names used by the store, which no file of a bundle may have. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([BUNDLE, ENVELOPE, PROVENANCE, FACTS]);

/** The same bundle with another signature is another revision. */
export function revisionId(sha256: string, envelope: Uint8Array | null): string {
  const signed = envelope === null ? "unsigned" : sha256Of(envelope).slice(0, ENVELOPE_DIGITS);
  return `${sha256}-${signed}`;
}

export class StoredPolicy {
  readonly folder: string;
  readonly #files: StoreFiles;

  constructor(folder: string, files: StoreFiles) {
    this.folder = folder;
    this.#files = files;
  }

  /** Stores a verified revision, unless it is already complete. */
  async put(made: RevisionParts): Promise<Revision> {
    const id = revisionId(made.sha256, made.envelope);
    const known = await this.open(id);
    if (known !== null) return known;
    const target = this.#folderOf(id);
    const temporary = join(this.folder, "revisions", temporaryName());
    const facts = factsOf(id, made);
    try {
      await this.#files.makeFolder(temporary);
      await this.#files.writeNew(join(temporary, BUNDLE), made.bundle);
      for (const [name, bytes] of [
        [ENVELOPE, made.envelope],
        [PROVENANCE, made.provenance],
      ] as const) {
        if (bytes !== null) await this.#files.writeNew(join(temporary, name), bytes);
      }
      for (const { file, path } of made.parts) await this.#files.link(path, join(temporary, file));
      await this.#files.writeNew(join(temporary, FACTS), Buffer.from(JSON.stringify(facts)));
      // Remove an incomplete revision.
      await this.#files.remove(target);
      await this.#files.rename(temporary, target);
    } catch (error) {
      await this.#files.remove(temporary).catch(() => {});
      throw error;
    }
    return { ...facts, path: join(target, BUNDLE) };
  }

  /** Opens a revision; null unless all of its files exist with the right digests. */
  async open(id: string): Promise<Revision | null> {
    if (!ID.test(id)) return null;
    const folder = this.#folderOf(id);
    const facts = await readRevision(folder);
    if (facts === null || facts.id !== id) return null;
    const { sha256, envelopeSha256, parts } = facts;
    const signed = envelopeSha256 === null ? [] : [{ file: ENVELOPE, sha256: envelopeSha256 }];
    for (const one of [{ file: BUNDLE, sha256 }, ...signed, ...parts]) {
      const found = await digestOfFile(join(folder, one.file)).catch(unlessShort);
      if (found?.sha256 !== one.sha256) return null;
    }
    return { ...facts, path: join(folder, BUNDLE) };
  }

  /** Id of the revision that was staged last. */
  async current(): Promise<string | null> {
    return (await this.#lines(CURRENT))[0] ?? null;
  }

  async setCurrent(id: string): Promise<void> {
    await this.#point(CURRENT, [id]);
  }

  /** Ids of revisions that all workers were ready with, the latest first. */
  async good(): Promise<readonly string[]> {
    return this.#lines(LAST_GOOD);
  }

  /** Whether a revision was recorded as good, even if the record can no longer be read. */
  async hasGood(): Promise<boolean> {
    return access(join(this.folder, LAST_GOOD)).then(
      () => true,
      () => false,
    );
  }

  /** Records a revision that all workers are ready with. */
  async setGood(id: string): Promise<void> {
    const before = await this.good();
    if (before[0] === id) return;
    const others = before.filter((one) => one !== id);
    await this.#point(LAST_GOOD, [id, ...others].slice(0, MAX_GOOD));
  }

  /** Latest good revision that is complete; null if none. */
  async lastGood(): Promise<Revision | null> {
    for (const id of await this.good()) {
      const revision = await this.open(id);
      if (revision !== null) return revision;
    }
    return null;
  }

  /** Ids of all revisions in the folder, those stored last first; they may be damaged. */
  async stored(): Promise<readonly string[]> {
    const names = await readdir(join(this.folder, "revisions"));
    const facts = await Promise.all(names.map((name) => readRevision(this.#folderOf(name))));
    const known = facts
      .flatMap((each) => each ?? [])
      .sort((one, other) => (one.at < other.at ? 1 : -1));
    return known.map(({ id }) => id);
  }

  /**
   * Removes all other revisions, and temporary files of killed servers.
   * @param inUse paths of files that may be opened again. @param nowEpochMs since 1970.
   */
  async sweep(inUse: readonly string[], nowEpochMs: number): Promise<void> {
    const kept = new Set([...(await this.good()), await this.current()]);
    const revisions = join(this.folder, "revisions");
    const names = await readdir(revisions);
    const own = await readdir(this.folder);
    const isTemporary = (name: string) => name.startsWith(TEMPORARY);
    for (const path of [
      ...names.filter(isTemporary).map((name) => join(revisions, name)),
      ...own.filter(isTemporary).map((name) => join(this.folder, name)),
    ]) {
      const stats = await stat(path).catch(() => null);
      const ageMs = nowEpochMs - (stats?.mtimeMs ?? nowEpochMs);
      if (ageMs > TEMPORARY_AGE_MS) await this.#files.remove(path);
    }
    for (const id of names.filter((name) => ID.test(name) && !kept.has(name))) {
      const folder = this.#folderOf(id);
      const isUsed = inUse.some((path) => path === folder || path.startsWith(join(folder, "/")));
      if (!isUsed) await this.#files.remove(folder);
    }
  }

  #folderOf(id: string): string {
    return join(this.folder, "revisions", id);
  }

  async #lines(name: string): Promise<readonly string[]> {
    const text = await readFile(join(this.folder, name), "utf8").catch(textUnlessShort);
    return text.split("\n").filter((line) => ID.test(line));
  }

  async #point(name: string, ids: readonly string[]): Promise<void> {
    const temporary = join(this.folder, temporaryName());
    try {
      await this.#files.writeNew(temporary, Buffer.from(`${ids.join("\n")}\n`));
      await this.#files.rename(temporary, join(this.folder, name));
    } catch (error) {
      await this.#files.remove(temporary).catch(() => {});
      throw error;
    }
  }
}

/** Reads the metadata of a revision; null if missing or invalid. */
export async function readRevision(folder: string): Promise<RevisionFacts | null> {
  const text = await readFile(join(folder, FACTS), "utf8").catch(unlessShort);
  if (text === null) return null;
  try {
    const { version, ...facts }: Record<string, unknown> = JSON.parse(text);
    return version === VERSION && isFacts(facts) ? facts : null;
  } catch {
    return null;
  }
}

function isFacts(value: object): value is RevisionFacts {
  const facts: Partial<Record<keyof RevisionFacts, unknown>> = value;
  const texts = [facts.id, facts.sha256, facts.application, facts.source, facts.at];
  return (
    texts.every((text) => typeof text === "string") &&
    [facts.validator, facts.envelopeSha256].every(isTextOrNull) &&
    Array.isArray(facts.parts) &&
    facts.parts.every(isNamedFile)
  );
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

function isNamedFile(value: unknown): value is NamedFile {
  if (typeof value !== "object" || value === null) return false;
  const { file, sha256 }: { file?: unknown; sha256?: unknown } = value;
  return typeof file === "string" && typeof sha256 === "string";
}

function factsOf(id: string, made: RevisionParts): RevisionFacts & { readonly version: number } {
  const { sha256, envelope, application, source, validator, epochMs, parts } = made;
  return {
    version: VERSION,
    id,
    sha256,
    envelopeSha256: envelope === null ? null : sha256Of(envelope),
    application,
    source,
    validator,
    at: new Date(epochMs).toISOString(),
    parts: parts.map((part) => ({ file: part.file, sha256: part.sha256 })),
  };
}

/** Unique name, recognizable as a temporary one after a crash. */
function temporaryName(): string {
  return `${TEMPORARY}${process.pid}-${randomBytes(6).toString("hex")}`;
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Returns null for a missing or damaged file. @throws the error if descriptors are short. */
function unlessShort(error: unknown): null {
  if (isShortage(error)) throw error;
  return null;
}

/** The folder of revisions shows whether the store as a whole can be read. */
function textUnlessShort(error: unknown): string {
  return unlessShort(error) ?? "";
}

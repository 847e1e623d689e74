/** Reads each file that a spec names once. */
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import { type KeyPath, MAX_DOCUMENT_BYTES, type SourceDocument } from "./document/document.ts";
import { conflict, fail, invalid, type Mistake, show } from "./document/mistakes.ts";
import { digestFile, linesOf } from "./document/source.ts";
import { type Profile, type ProfiledVariant, readProfile } from "./profile.ts";

/** File that an application was read from. */
export interface InputFile {
  /** Relative to the folder of the spec, with forward slashes. */
  readonly path: string;
  readonly sha256: string;
}

/** Files that a spec names, each read once. */
export class NamedFiles {
  readonly #document: SourceDocument;
  readonly #folder: string;
  readonly #oneProfile: string | null;
  readonly #profiles = new Map<string, Profile>();
  readonly #sha256ByPath = new Map<string, string>();

  /**
   * @param path of the spec; names are relative to its folder.
   * @param oneProfile path of a profile that replaces all others; null for none.
   */
  constructor(document: SourceDocument, path: string, oneProfile: string | null = null) {
    this.#document = document;
    this.#oneProfile = oneProfile === null ? null : resolve(oneProfile);
    this.#folder = dirname(path);
    this.#sha256ByPath.set(resolve(path), document.sha256);
  }

  /** Absolute folder that names are relative to. */
  get folder(): string {
    return resolve(this.#folder);
  }

  /**
   * Reads the variant that `<file>#<variant>` names.
   * @param keyPath place in the spec.
   * @throws InputError
   */
  profiledVariant(reference: string, keyPath: KeyPath): ProfiledVariant {
    const hash = reference.indexOf("#");
    if (hash <= 0 || hash === reference.length - 1) {
      return this.fail(invalid(keyPath, "<file>#<variant>", show(reference)));
    }
    const profile = this.#profile(this.#oneProfile ?? reference.slice(0, hash), keyPath);
    const name = reference.slice(hash + 1);
    const known = [...profile.variants.keys()];
    return (
      profile.variants.get(name) ??
      this.fail(
        conflict(keyPath, `the profile has no variant ${show(name)}${suggestion(name, known)}`),
      )
    );
  }

  /** Returns the references to read: only the first if one profile replaces all. */
  distinct(references: readonly string[]): readonly string[] {
    return this.#oneProfile === null ? references : references.slice(0, 1);
  }

  /**
   * Returns the path of a file that is only hashed here.
   * @throws InputError if it is not a readable file of at most `maxBytes`.
   */
  opaque(name: string, keyPath: KeyPath, maxBytes: number): string {
    const path = resolve(this.#folder, name);
    if (!this.#sha256ByPath.has(path)) {
      const result = digestFile(path, maxBytes);
      if (!result.ok) return this.#unreadable(name, result.reason, keyPath);
      this.#sha256ByPath.set(path, result.sha256);
    }
    return path;
  }

  /** Reads the lines of a text file. @throws InputError if that fails. */
  lines(name: string, keyPath: KeyPath): readonly string[] {
    const path = this.opaque(name, keyPath, MAX_DOCUMENT_BYTES);
    return linesOf(path, (reason) => this.#unreadable(name, reason, keyPath));
  }

  /** Every file named so far and the spec, sorted by path. */
  inputs(): InputFile[] {
    return [...this.#sha256ByPath]
      .map(([path, sha256]) => ({
        path: relative(this.#folder, path).replaceAll(sep, "/"),
        sha256,
      }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** @throws InputError for a mistake of the spec, always. */
  fail(mistake: Mistake): never {
    return fail(this.#document, mistake);
  }

  #profile(name: string, keyPath: KeyPath): Profile {
    const path = resolve(this.#folder, name);
    const known = this.#profiles.get(path);
    if (known !== undefined) return known;
    // A missing file is reported for the spec, invalid content for the profile.
    this.opaque(name, keyPath, MAX_DOCUMENT_BYTES);
    const profile = readProfile(path, isAbsolute(name) ? name : join(this.#folder, name));
    this.#profiles.set(path, profile);
    return profile;
  }

  #unreadable(name: string, reason: string, path: KeyPath): never {
    const message = `expected a readable file, got ${show(name)} (${reason})`;
    return this.fail({ code: "INPUT_UNREADABLE", path, message });
  }
}

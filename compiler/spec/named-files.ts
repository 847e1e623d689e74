/** Reads the files that a spec names, each once. */
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import { type KeyPath, MAX_DOCUMENT_BYTES, type SourceDocument } from "./document/document.ts";
import { conflict, fail, invalid, type Mistake, show } from "./document/mistakes.ts";
import { digestFile, linesOf } from "./document/source.ts";
import { type Profile, type ProfiledVariant, readProfile } from "./profile.ts";

/** A file that an application was made of. */
export interface InputFile {
  /** Relative to the folder of the spec, with forward slashes. */
  readonly path: string;
  readonly sha256: string;
}

/** The files that a spec names, each read once. */
export class NamedFiles {
  readonly #document: SourceDocument;
  readonly #folder: string;
  readonly #oneProfile: string | null;
  readonly #profiles = new Map<string, Profile>();
  readonly #sha256ByPath = new Map<string, string>();

  /**
   * @param path of the spec, whose folder the names in it are relative to.
   * @param oneProfile path of a profile in place of all that the spec names; null for none.
   */
  constructor(document: SourceDocument, path: string, oneProfile: string | null = null) {
    this.#document = document;
    this.#oneProfile = oneProfile === null ? null : resolve(oneProfile);
    this.#folder = dirname(path);
    this.#sha256ByPath.set(resolve(path), document.sha256);
  }

  /** That names are relative to, absolute. */
  get folder(): string {
    return resolve(this.#folder);
  }

  /**
   * The variant that `<file>#<variant>` names.
   * @param keyPath where in the spec it is named.
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

  /** References to profiles without those that mean the same, since one stands in for all. */
  distinct(references: readonly string[]): readonly string[] {
    return this.#oneProfile === null ? references : references.slice(0, 1);
  }

  /**
   * Path that opens a file which is not read here, only hashed.
   * @throws InputError when it is not a readable file of at most `maxBytes`.
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

  /** The lines of a text file. @throws InputError when it is none. */
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
    // The spec is at fault when there is no such file, the profile when it is wrong inside.
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

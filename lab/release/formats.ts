/** The editions of the bundle format, and the files that are kept of each. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface FormatFile {
  readonly name: string;
  readonly sha256: string;
}

export interface FormatEdition {
  /** The version of the format in the file's header, and which edition of that version. */
  readonly name: string;
  /** The commit whose compiler wrote the files, in full. */
  readonly commit: string;
  readonly date: string;
  /** Keys that may be left out and that readers of earlier editions refuse by name. */
  readonly adds: readonly string[];
  /** Where what is longer now comes before any such key: what earlier readers expected there. */
  readonly refusedAs?: string;
  readonly files: readonly FormatFile[];
}

export const FORMATS = "test/fixtures/formats";

/** Oldest first. */
export function readEditions(root = "."): FormatEdition[] {
  const file = join(root, FORMATS, "editions.json");
  return JSON.parse(readFileSync(file, "utf8")) as FormatEdition[];
}

/** Where a file of an edition lies, below the root of the repository. */
export function pathOf(edition: FormatEdition, { name }: FormatFile): string {
  return join(FORMATS, edition.name, name);
}

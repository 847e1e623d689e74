/** Reads YAML or JSON and records where each value stands. */
import { parseText } from "./document-parser.ts";
import { DocumentValues, type KeyPath, type Place } from "./document-values.ts";
import { InputError } from "./input-error.ts";
import { decodeUtf8, digest, MEBIBYTE, readBytes } from "./source.ts";

export type { KeyPath } from "./document-values.ts";

/** YAML or JSON file with the places of its values. */
export interface SourceDocument {
  /** Name in messages. */
  readonly file: string;
  readonly value: unknown;
  readonly sha256: string;
  /** Returns the place of the deepest existing value on `path`. */
  readonly locate: (path: KeyPath) => Place;
}

/** Limit of a spec or a profile. */
export const MAX_DOCUMENT_BYTES = 4 * MEBIBYTE;

/**
 * Reads a YAML 1.2 document; JSON is a subset.
 * @throws InputError if the file cannot be read or is not well-formed.
 */
export function readDocument(path: string, file: string = path): SourceDocument {
  const read = readBytes(path, MAX_DOCUMENT_BYTES);
  if (!read.ok) {
    throw new InputError(
      "INPUT_UNREADABLE",
      `${file}: expected a readable file, but ${read.reason}`,
    );
  }
  const values = new DocumentValues(parseText(decodeUtf8(read.bytes, file), file), file);
  return {
    file,
    value: values.value,
    sha256: digest(read.bytes),
    locate: (keys) => values.locate(keys),
  };
}

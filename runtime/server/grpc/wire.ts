/** Decodes untrusted protobuf messages field by field, with bounds checks. */
import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";
import type { Fields } from "../protocol/infer-request.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import { integerValue } from "../tensors/json-text.ts";

/** Parameters of one request or tensor; no client sends nearly as many. */
const MAX_PARAMETERS = 256;

/** Types of fields on the wire. */
export const VARINT = 0;
export const BITS_64 = 1;
export const BYTES = 2;
export const BITS_32 = 5;

/** Reads a field, if it is one of the message. @returns whether it has. */
export type TakeField = (field: number, wire: WireType, reader: BinaryReader) => boolean;

/**
 * Calls back for every field in order; fields that are not taken are skipped.
 * @param path of the message in the request.
 * @throws BadRequest if the bytes are not a message, and errors of `take`.
 */
export function eachField(bytes: Uint8Array, path: string, take: TakeField): void {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [field, wire] = reader.tag();
      if (!take(field, wire, reader)) reader.skip(wire, field);
    }
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new BadRequest(path, `expected a protobuf message (${reason})`, `${bytes.length} bytes`);
  }
  if (reader.pos !== reader.len) {
    throw new BadRequest(path, "expected a whole protobuf message", `${bytes.length} bytes`);
  }
}

/** Parameters by their names; an entry of a map is a message of its own. */
export class WireParameters {
  // No prototype, so that a key such as `__proto__` is an ordinary name.
  readonly #fields: Record<string, unknown> = Object.create(null);
  readonly #path: string;
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get fields(): Fields {
    return this.#fields;
  }

  /** @throws BadRequest */
  take(entry: Uint8Array): void {
    this.#count++;
    if (this.#count > MAX_PARAMETERS) {
      throw new BadRequest(this.#path, `expected at most ${MAX_PARAMETERS}`, "more");
    }
    let name = "";
    let value: unknown;
    eachField(entry, this.#path, (field, wire, reader) => {
      if (wire !== BYTES || field > 2) return false;
      if (field === 1) name = reader.string(true);
      else value = parameterOf(reader.bytes(), `${this.#path}.${name.slice(0, 60)}`);
      return true;
    });
    this.#fields[name] = value;
  }
}

/** Numbers are decoded as in JSON; parameters that need an integer reject an inexact one. */
function parameterOf(bytes: Uint8Array, path: string): unknown {
  let value: unknown;
  eachField(bytes, path, (field, wire, reader) => {
    if (field === 1 && wire === VARINT) value = reader.bool();
    else if (field === 2 && wire === VARINT) value = integerValue(BigInt(reader.int64()));
    else if (field === 3 && wire === BYTES) value = reader.string(true);
    else if (field === 4 && wire === BITS_64) value = reader.double();
    else if (field === 5 && wire === VARINT) value = integerValue(BigInt(reader.uint64()));
    else return false;
    return true;
  });
  return value;
}

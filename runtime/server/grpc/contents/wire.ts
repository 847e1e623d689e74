/** Decodes untrusted protobuf messages field by field, with bounds checks. */
import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";
import type { Fields } from "../../protocol/infer-request.ts";
import { BadRequest } from "../../tensors/bad-request.ts";
import { integerValue } from "../../tensors/json-text.ts";

/** Parameters of one request or tensor; no client sends nearly as many. */
const MAX_PARAMETERS = 256;

/** Types of fields on the wire. */
export const VARINT = 0;
export const BITS_64 = 1;
export const BYTES = 2;
export const BITS_32 = 5;

/** Fields of one request beside its elements; more than any client sends. */
const MAX_FIELDS = 16_384;
/** Bytes of all names, ids and parameters of one request. */
const MAX_TEXT_BYTES = 2 ** 20;

/** Limits the work of decoding a message, which is done on the event loop. */
export class WireBudget {
  #leftFields = MAX_FIELDS;
  #leftBytes = MAX_TEXT_BYTES;

  /** @throws BadRequest */
  onField(path: string): void {
    if (--this.#leftFields < 0) {
      throw new BadRequest(path, `expected at most ${MAX_FIELDS} fields in a request`, "more");
    }
  }

  /** Reads a string. @throws BadRequest, or Error for what is no UTF-8. */
  textOf(reader: BinaryReader, path: string): string {
    const start = reader.pos;
    const length = reader.uint32();
    if (length <= reader.len - reader.pos) this.#leftBytes -= length;
    reader.pos = start;
    if (this.#leftBytes >= 0) return reader.string(true);
    const expected = `expected at most ${MAX_TEXT_BYTES} bytes of names and parameters`;
    throw new BadRequest(path, expected, "more");
  }
}

/** Reads a field, if it is one of the message. @returns whether it has. */
export type TakeField = (field: number, wire: WireType, reader: BinaryReader) => boolean;

/**
 * Calls back for every field in order; fields that are not taken are skipped.
 * @param path of the message in the request.
 * @param budget of the fields. Default: no limit.
 * @throws BadRequest if the bytes are not a message, and errors of `take`.
 */
export function eachField(
  bytes: Uint8Array,
  path: string,
  take: TakeField,
  budget?: WireBudget,
): void {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      budget?.onField(path);
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
  readonly #budget: WireBudget;
  #count = 0;

  constructor(path: string, budget: WireBudget) {
    this.#path = path;
    this.#budget = budget;
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
    const budget = this.#budget;
    const take: TakeField = (field, wire, reader) => {
      if (wire !== BYTES || field > 2) return false;
      if (field === 1) name = budget.textOf(reader, this.#path);
      else value = parameterOf(reader.bytes(), `${this.#path}.${name.slice(0, 60)}`, budget);
      return true;
    };
    eachField(entry, this.#path, take, budget);
    this.#fields[name] = value;
  }
}

/** Numbers are decoded as in JSON; parameters that need an integer reject an inexact one. */
function parameterOf(bytes: Uint8Array, path: string, budget: WireBudget): unknown {
  let value: unknown;
  const take: TakeField = (field, wire, reader) => {
    if (field === 1 && wire === VARINT) value = reader.bool();
    else if (field === 2 && wire === VARINT) value = integerValue(BigInt(reader.int64()));
    else if (field === 3 && wire === BYTES) value = budget.textOf(reader, path);
    else if (field === 4 && wire === BITS_64) value = reader.double();
    else if (field === 5 && wire === VARINT) value = integerValue(BigInt(reader.uint64()));
    else return false;
    return true;
  };
  eachField(bytes, path, take, budget);
  return value;
}

/** Checks the bytes of a payload before they are decoded. */
import { BundleError } from "../base/bundle-error.ts";

/** A bundle nests nine levels deep. */
const MAX_DEPTH = 16;
/** A bundle with the largest counts that the tables allow has fewer keys and values. */
const MAX_VALUES = 1_000_000;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Walks untrusted msgpack without building anything, so that the decoder meets only what it
 * expects: no extension types (msgpackr acts on them), no 64-bit integers, no float32, strings in
 * valid UTF-8, map keys that are strings in ascending byte order (hence no duplicates), bounded
 * depth and count, and an end where the bytes end.
 *
 * @throws BundleError BUNDLE_SCHEMA at the first byte that breaks a rule.
 */
export function scanMsgpack(bytes: Uint8Array): void {
  const scanner = new Scanner(bytes);
  scanner.value(1);
  scanner.end();
}

class Scanner {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #position = 0;
  #valueCount = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  end(): void {
    const left = this.#bytes.length - this.#position;
    if (left > 0) refuse(this.#position, `${left} bytes after the value`, "the end of the payload");
  }

  value(depth: number): void {
    this.#count();
    const at = this.#position;
    const token = this.#unsigned(1);
    if (token < 0x80 || token >= 0xe0) return; // an integer in one byte
    if (token < 0x90) this.#map(token & 0x0f, depth);
    else if (token < 0xa0) this.#array(token & 0x0f, depth);
    else if (token < 0xc0) this.#string(token & 0x1f);
    else this.#sizedValue(token, at, depth);
  }

  #sizedValue(token: number, at: number, depth: number): void {
    switch (token) {
      case 0xc0: // nil
      case 0xc2: // false
      case 0xc3: // true
        break;
      case 0xc4: // bin 8, 16, 32
      case 0xc5:
      case 0xc6:
        this.#skip(this.#unsigned(1 << (token - 0xc4)));
        break;
      case 0xcb: // float 64
        this.#skip(8);
        break;
      case 0xcc: // uint 8, 16, 32
      case 0xcd:
      case 0xce:
        this.#skip(1 << (token - 0xcc));
        break;
      case 0xd0: // int 8, 16, 32
      case 0xd1:
      case 0xd2:
        this.#skip(1 << (token - 0xd0));
        break;
      case 0xd9: // str 8, 16, 32
      case 0xda:
      case 0xdb:
        this.#string(this.#unsigned(1 << (token - 0xd9)));
        break;
      case 0xdc: // array 16, 32
      case 0xdd:
        this.#array(this.#unsigned(2 << (token - 0xdc)), depth);
        break;
      case 0xde: // map 16, 32
      case 0xdf:
        this.#map(this.#unsigned(2 << (token - 0xde)), depth);
        break;
      default:
        refuse(at, `msgpack type 0x${token.toString(16)}`, ALLOWED_TYPES);
    }
  }

  #array(length: number, depth: number): void {
    this.#enter(depth);
    for (let index = 0; index < length; index++) this.value(depth + 1);
  }

  #map(length: number, depth: number): void {
    this.#enter(depth);
    let previousStart = -1;
    let previousEnd = -1;
    for (let index = 0; index < length; index++) {
      const start = this.#keyStart();
      const end = this.#position;
      if (index > 0 && !this.#isBefore(previousStart, previousEnd, start, end)) {
        refuse(start, "a map key out of order or repeated", "keys in ascending byte order");
      }
      previousStart = start;
      previousEnd = end;
      this.value(depth + 1);
    }
  }

  /** Skips a key. @returns the start of its text; the text ends at the position. */
  #keyStart(): number {
    this.#count();
    const at = this.#position;
    const token = this.#unsigned(1);
    if (token >= 0xa0 && token < 0xc0) return this.#string(token & 0x1f);
    if (token >= 0xd9 && token <= 0xdb) {
      return this.#string(this.#unsigned(1 << (token - 0xd9)));
    }
    return refuse(at, `msgpack type 0x${token.toString(16)}`, "a string as a map key");
  }

  /** Whether the text of one key sorts before that of another. */
  #isBefore(startA: number, endA: number, startB: number, endB: number): boolean {
    const bytes = this.#bytes;
    const shared = Math.min(endA - startA, endB - startB);
    for (let index = 0; index < shared; index++) {
      const difference = (bytes[startA + index] ?? 0) - (bytes[startB + index] ?? 0);
      if (difference !== 0) return difference < 0;
    }
    return endA - startA < endB - startB;
  }

  /** Skips the text of a string. @returns its start. */
  #string(length: number): number {
    const bytes = this.#bytes;
    const start = this.#position;
    this.#skip(length);
    for (let at = start; at < this.#position; at++) {
      if ((bytes[at] ?? 0) < 0x80) continue;
      if (!isUtf8(bytes.subarray(start, this.#position))) {
        refuse(start, "a string that is not UTF-8", "UTF-8");
      }
      break;
    }
    return start;
  }

  #unsigned(byteCount: number): number {
    const at = this.#position;
    this.#skip(byteCount);
    if (byteCount === 1) return this.#view.getUint8(at);
    return byteCount === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #skip(byteCount: number): void {
    const left = this.#bytes.length - this.#position;
    if (byteCount > left) refuse(this.#position, `${left}`, `at least ${byteCount} more bytes`);
    this.#position += byteCount;
  }

  #enter(depth: number): void {
    if (depth >= MAX_DEPTH) {
      refuse(this.#position, `nesting of ${depth + 1}`, `at most ${MAX_DEPTH} levels`);
    }
  }

  #count(): void {
    this.#valueCount++;
    if (this.#valueCount > MAX_VALUES) {
      refuse(this.#position, `more than ${MAX_VALUES} values`, `at most ${MAX_VALUES}`);
    }
  }
}

const ALLOWED_TYPES =
  "nil, a boolean, an integer of at most 32 bits, float64, str, bin, an array or a map";

function isUtf8(bytes: Uint8Array): boolean {
  try {
    utf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function refuse(offset: number, found: string, allowed: string): never {
  throw new BundleError(
    "BUNDLE_SCHEMA",
    `payload byte ${offset}: expected ${allowed}, got ${found}; compile the bundle again`,
  );
}

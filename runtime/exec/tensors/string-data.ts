/** Strings of a tensor as bytes: each after its length in 4 bytes, little-endian. */

/** Size of a length, and so of an empty string. */
export const LENGTH_BYTES = 4;

type Bytes = Uint8Array<ArrayBuffer>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the number of strings. @throws RangeError as `decodeStrings`. */
export function countStrings(bytes: Uint8Array): number {
  return decodeStrings(bytes, () => null).length;
}

/** @throws RangeError if the last string does not end with the bytes. */
export function decodeStrings<T>(bytes: Uint8Array, read: (element: Uint8Array) => T): T[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const strings: T[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const begin = offset + LENGTH_BYTES;
    const end = begin > bytes.length ? begin : begin + view.getUint32(offset, true);
    if (end > bytes.length) {
      const found = `string ${strings.length} ends at ${end} of ${bytes.length} bytes`;
      throw new RangeError(`expected strings, each after its length in 4 bytes; ${found}`);
    }
    strings.push(read(bytes.subarray(begin, end)));
    offset = end;
  }
  return strings;
}

/** Decodes a string for the engine. @throws RangeError for bytes that it would change. */
export function stringOf(element: Uint8Array): string {
  if (element.includes(0)) throw new RangeError("expected strings without NUL characters");
  try {
    return utf8.decode(element);
  } catch {
    throw new RangeError("expected strings in UTF-8: the engine takes no other bytes");
  }
}

/** Encodes text as UTF-8, and bytes as they are. */
export function encodeStrings(elements: readonly (Uint8Array | string)[]): Bytes {
  const encoded = elements.map((one) => (typeof one === "string" ? Buffer.from(one) : one));
  const length = encoded.reduce((sum, text) => sum + LENGTH_BYTES + text.length, 0);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const text of encoded) {
    view.setUint32(offset, text.length, true);
    bytes.set(text, offset + LENGTH_BYTES);
    offset += LENGTH_BYTES + text.length;
  }
  return bytes;
}

/** The part of protobuf's wire format that ONNX models need: reading fields, and writing them. */

export interface Field {
  readonly number: number;
  /** A number, or bytes for what has a length or a fixed width, as a view. */
  readonly value: number | Uint8Array;
  /** The whole field as it is written, key included, as a view. */
  readonly bytes: Uint8Array;
}

const text = new TextEncoder();

/** Every field of a message, in its order. @throws Error for what is no message. */
export function fieldsOf(message: Uint8Array): Field[] {
  const fields: Field[] = [];
  let at = 0;
  while (at < message.length) {
    const [key, start] = readVarint(message, at);
    const [value, next] = readValue(message, key % 8, start);
    fields.push({ number: Math.floor(key / 8), value, bytes: message.subarray(at, next) });
    at = next;
  }
  return fields;
}

/** Every value of one field of a message. @param wanted number of the field. */
export function valuesOf(message: Uint8Array, wanted: number): (number | Uint8Array)[] {
  return fieldsOf(message)
    .filter(({ number }) => number === wanted)
    .map(({ value }) => value);
}

/** Every value of a field that is a message itself. @throws Error for another kind of field. */
export function messagesOf(message: Uint8Array, wanted: number): Uint8Array[] {
  return valuesOf(message, wanted).map((value) => {
    if (typeof value === "number") throw new Error(`field ${wanted}: expected a message`);
    return value;
  });
}

/** A value and the place after it. */
function readValue(
  message: Uint8Array,
  wireType: number,
  start: number,
): [value: number | Uint8Array, next: number] {
  if (wireType === 0) return readVarint(message, start);
  if (wireType === 2) {
    const [length, first] = readVarint(message, start);
    return [message.subarray(first, first + length), first + length];
  }
  if (wireType !== 1 && wireType !== 5) {
    throw new Error(`byte ${start}: expected an ONNX model, found protobuf wire type ${wireType}`);
  }
  const width = wireType === 1 ? 8 : 4;
  return [message.subarray(start, start + width), start + width];
}

/** A number and the place after it. */
export function readVarint(bytes: Uint8Array, start: number): [value: number, next: number] {
  let value = 0;
  let factor = 1;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    value += (byte % 128) * factor;
    factor *= 128;
    if (byte < 128) return [value, at + 1];
  }
  throw new Error(`byte ${start}: expected an ONNX model, found the end of the file`);
}

/** A field that is a whole number of at least 0. */
export function integer(field: number, value: number): number[] {
  return [...varint(field * 8), ...varint(value)];
}

/** A field that has a length: bytes, or a message. */
export function bytes(field: number, value: Iterable<number>): number[] {
  const values = [...value];
  return [...varint(field * 8 + 2), ...varint(values.length), ...values];
}

/** A field that is a text. */
export function string(field: number, value: string): number[] {
  return bytes(field, text.encode(value));
}

function varint(value: number): number[] {
  const encoded: number[] = [];
  let rest = value;
  while (rest > 127) {
    encoded.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return [...encoded, rest];
}

/**
 * The part of protobuf's wire format that ONNX models need: reading a message's fields one by one, and writing fields by their number.
 */

const text = new TextEncoder();

/**
 * Every field of a message, in its order.
 * @param {Uint8Array} message
 * @returns {{ number: number, value: number | Uint8Array, bytes: Uint8Array }[]} the field's number; a number, or bytes for what has a length or
 * a fixed width; and the whole field as it is written, key included. Bytes are views.
 * @throws Error for what is no message.
 */
export function fieldsOf(message) {
  const fields = [];
  let at = 0;
  while (at < message.length) {
    const [key, start] = readVarint(message, at);
    const [value, next] = readValue(message, key % 8, start);
    fields.push({ number: Math.floor(key / 8), value, bytes: message.subarray(at, next) });
    at = next;
  }
  return fields;
}

/**
 * Every value of one field of a message.
 * @param {Uint8Array} message
 * @param {number} wanted number of the field.
 */
export function valuesOf(message, wanted) {
  return fieldsOf(message)
    .filter(({ number }) => number === wanted)
    .map(({ value }) => value);
}

/** A value and the place after it. */
function readValue(message, wireType, start) {
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

/**
 * A number and the place after it.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @returns {[number, number]}
 */
export function readVarint(bytes, start) {
  let value = 0;
  let factor = 1;
  for (let at = start; at < bytes.length; at++) {
    value += (bytes[at] % 128) * factor;
    factor *= 128;
    if (bytes[at] < 128) return [value, at + 1];
  }
  throw new Error(`byte ${start}: expected an ONNX model, found the end of the file`);
}

/** A field that is a whole number of at least 0. */
export function integer(field, value) {
  return [...varint(field * 8), ...varint(value)];
}

/** A field that has a length: bytes, or a message. */
export function bytes(field, value) {
  const values = [...value];
  return [...varint(field * 8 + 2), ...varint(values.length), ...values];
}

/** A field that is a text. */
export function string(field, value) {
  return bytes(field, text.encode(value));
}

function varint(value) {
  const encoded = [];
  let rest = value;
  while (rest > 127) {
    encoded.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return [...encoded, rest];
}

/**
 * Reads the names of the first dimensions of an ONNX file's inputs and outputs; onnxruntime reports
 * them only after loading the model.
 *
 * Fields of onnx.proto: ModelProto.graph = 7; GraphProto.input = 11, output = 12;
 * ValueInfoProto.name = 1, type = 2; TypeProto.tensor_type = 1; Tensor.shape = 2;
 * TensorShapeProto.dim = 1; Dimension.dim_param = 2.
 */

const GRAPH = 7;
const VALUES: readonly number[] = [11, 12];
const DELIMITED = 2;

/**
 * Returns the name of the first axis by tensor, for tensors that have one. Returns nothing for a
 * file that is not ONNX.
 */
export function firstAxisNames(model: Uint8Array): Record<string, string> {
  const names: Record<string, string> = {};
  const [graph] = fieldsOf(model, [GRAPH]);
  for (const value of graph === undefined ? [] : fieldsOf(graph, VALUES)) {
    const [name] = fieldsOf(value, [1]);
    const axis = textAt(value, [2, 1, 2, 1, 2]);
    if (name !== undefined && axis !== undefined) names[textOf(name)] = axis;
  }
  return names;
}

/** Follows a path of field numbers, taking the first field of each. */
function textAt(message: Uint8Array, path: readonly number[]): string | undefined {
  let field: Uint8Array | undefined = message;
  for (const number of path) {
    if (field !== undefined) [field] = fieldsOf(field, [number]);
  }
  return field === undefined || field.length === 0 ? undefined : textOf(field);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

/** Returns the length-delimited fields of these numbers, up to the end or to invalid bytes. */
function fieldsOf(message: Uint8Array, numbers: readonly number[]): Uint8Array[] {
  const fields: Uint8Array[] = [];
  const cursor = { offset: 0 };
  while (cursor.offset < message.length) {
    const tag = varint(message, cursor);
    const wireType = tag % 8;
    const length = sizeOf(wireType, message, cursor);
    if (Number.isNaN(length)) break;
    const end = cursor.offset + length;
    if (end > message.length) break;
    if (wireType === DELIMITED && numbers.includes(Math.floor(tag / 8))) {
      fields.push(message.subarray(cursor.offset, end));
    }
    cursor.offset = end;
  }
  return fields;
}

/** Returns the bytes of a field after its tag and length; NaN for an unknown wire type. */
function sizeOf(wireType: number, message: Uint8Array, cursor: { offset: number }): number {
  if (wireType === DELIMITED) return varint(message, cursor);
  if (wireType === 0) {
    varint(message, cursor);
    return 0;
  }
  if (wireType === 1) return 8;
  return wireType === 5 ? 4 : Number.NaN;
}

/** Inexact beyond 2^53, which no length reaches. */
function varint(message: Uint8Array, cursor: { offset: number }): number {
  let value = 0;
  let scale = 1;
  while (cursor.offset < message.length) {
    const byte = message[cursor.offset++] ?? 0;
    value += (byte % 128) * scale;
    if (byte < 128) break;
    scale *= 128;
  }
  return value;
}

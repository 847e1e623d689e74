/**
 * Counts the fields of a protobuf file before it is decoded: decoded objects are a hundred times as
 * large as the two bytes a field may take in the file.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { OnnxModelError } from "./onnx-model-error.ts";

/** Message types of these fields, by field number; other fields are not inspected. */
const PARTS: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  model: { 7: "graph", 20: "training", 25: "function" },
  training: { 1: "graph", 2: "graph" },
  function: { 7: "node", 11: "attribute" },
  graph: { 1: "node", 5: "tensor", 11: "value", 12: "value", 13: "value", 15: "sparse" },
  node: { 5: "attribute" },
  attribute: { 5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse" },
  sparse: { 1: "tensor", 2: "tensor" },
  tensor: {},
  value: { 2: "type" },
  type: { 1: "tensorType" },
  tensorType: { 2: "shape" },
  shape: {},
};
/** A model of 20,000 nodes has some 500,000. */
const MAX_FIELDS = 3_000_000;
/** Protobuf's own limit. */
const MAX_DEPTH = 100;

/**
 * @throws OnnxModelError for more fields than a model has; any error if the bytes are not protobuf.
 */
export function refuseManyFields(bytes: Uint8Array): void {
  let fields = 0;
  const open = [{ kind: "model", start: 0, end: bytes.length, depth: 0 }];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { kind, start, end, depth } = part;
    if (depth > MAX_DEPTH) {
      throw new OnnxModelError(`expected messages nested at most ${MAX_DEPTH} deep`);
    }
    const reader = new BinaryReader(bytes.subarray(start, end));
    while (reader.pos < reader.len) {
      fields++;
      if (fields > MAX_FIELDS) {
        throw new OnnxModelError(`expected at most ${MAX_FIELDS} fields in the file, found more`);
      }
      const [field, wireType] = reader.tag();
      const inner = PARTS[kind]?.[field];
      if (inner === undefined || wireType !== WireType.LengthDelimited) {
        reader.skip(wireType, field);
        continue;
      }
      const length = reader.uint32();
      const first = start + reader.pos;
      if (first + length > end)
        throw new OnnxModelError("a field ends after the message that holds it");
      open.push({ kind: inner, start: first, end: first + length, depth: depth + 1 });
      reader.pos += length;
    }
  }
}

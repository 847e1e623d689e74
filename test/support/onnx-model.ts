/** The smallest ONNX model there is: y = Identity(x), float32 [batch, width], written as protobuf by hand. */

const text = new TextEncoder();

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}

const integer = (field: number, value: number): number[] => [
  ...varint(field * 8),
  ...varint(value),
];
const bytes = (field: number, value: readonly number[]): number[] => [
  ...varint(field * 8 + 2),
  ...varint(value.length),
  ...value,
];
const string = (field: number, value: string): number[] => bytes(field, [...text.encode(value)]);

function tensor(name: string, width: number): number[] {
  const shape = [...bytes(1, string(2, "batch")), ...bytes(1, integer(1, width))];
  return [...string(1, name), ...bytes(2, bytes(1, [...integer(1, 1), ...bytes(2, shape)]))];
}

export function identityModel(width: number): Uint8Array {
  const node = [...string(1, "x"), ...string(2, "y"), ...string(4, "Identity")];
  const graph = [
    ...bytes(1, node),
    ...string(2, "identity"),
    ...bytes(11, tensor("x", width)),
    ...bytes(12, tensor("y", width)),
  ];
  return Uint8Array.from([...integer(1, 8), ...bytes(7, graph), ...bytes(8, integer(2, 13))]);
}

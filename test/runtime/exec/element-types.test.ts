import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { VariantModel } from "../../../runtime/exec/models/executor.ts";
import { identityVariant, startedExecutor } from "./built-executor.ts";

const WIDTH = 3;
/** Bytes of an element, and the number ONNX gives the type. */
const TYPES = {
  float32: [4, 1],
  uint8: [1, 2],
  int8: [1, 3],
  uint16: [2, 4],
  int16: [2, 5],
  int32: [4, 6],
  int64: [8, 7],
  bool: [1, 9],
  float16: [2, 10],
  float64: [8, 11],
  uint32: [4, 12],
  uint64: [8, 13],
  string: [0, 8],
} as const;
type Dtype = keyof typeof TYPES;

/**
 * The identity model with another element type; each of its two tensors has it before its shape, as
 * field 1 before field 2.
 */
function typedIdentity(dtype: Dtype): VariantModel {
  const variant = identityVariant(dtype, WIDTH);
  const model = readFileSync(variant.path);
  const float32 = Buffer.from([8, 1, 18]);
  for (let at = model.indexOf(float32); at >= 0; at = model.indexOf(float32, at + 1)) {
    model[at + 1] = TYPES[dtype][1];
  }
  writeFileSync(variant.path, model);
  const shape = [-1, WIDTH];
  const [inputs, outputs] = [[{ name: "x", dtype, shape }], [{ name: "y", dtype, shape }]];
  return { ...variant, inputs, outputs };
}

const NUMERIC: readonly Dtype[] = [
  "float32",
  "float64",
  "float16",
  "bool",
  "uint8",
  "int8",
  "uint16",
  "int16",
  "uint32",
  "int32",
  "uint64",
  "int64",
];

test("tensors of every element type keep their bits on any boundary", async () => {
  const executor = await startedExecutor({ variants: NUMERIC.map(typedIdentity) });
  for (const [variant, name] of NUMERIC.entries()) {
    const bytes = TYPES[name][0] * WIDTH;
    const limit = name === "bool" ? 2 : 60;
    const parts = [0, 1, 2].map((part) =>
      Uint8Array.from({ length: bytes }, (_, index) => (part + index) % limit),
    );
    const { outputs } = await executor.run(0, { variant, rows: 3, inputs: [parts] });
    expect([name, ...(outputs[0]?.bytes ?? [])]).toEqual([name, ...Buffer.concat(parts)]);
  }
  await executor.close();
});

function stringBytes(...texts: readonly (string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      return [length, bytes];
    }),
  );
}

test("strings keep their characters, of any length and language", async () => {
  const executor = await startedExecutor({ variants: [typedIdentity("string")] });
  const parts = [
    stringBytes("", "ä€😀", "x".repeat(100_000)),
    stringBytes("\ufeffbom", 'a b\n"c"', "\u007f"),
  ];
  const { outputs } = await executor.run(0, { variant: 0, rows: 2, inputs: [parts] });
  expect(outputs[0]?.shape).toEqual([2, WIDTH]);
  expect(Buffer.from(outputs[0]?.bytes ?? []).equals(Buffer.concat(parts))).toBe(true);
  await executor.close();
});

test("bytes that the engine would change are refused, and harm no other batch", async () => {
  const executor = await startedExecutor({ variants: [typedIdentity("string")] });
  const run = (bytes: Uint8Array) => executor.run(0, { variant: 0, rows: 1, inputs: [[bytes]] });
  const invalid = run(stringBytes("a", Uint8Array.of(0xff, 0xd8), "c"));
  await expect(invalid).rejects.toThrow("expected strings in UTF-8");
  await expect(run(stringBytes("a", "b\0c", "d"))).rejects.toThrow("without NUL characters");
  const few = 'input "x": 1 rows of string [-1, 3] take 3 strings, got 2';
  await expect(run(stringBytes("a", "b"))).rejects.toThrow(few);
  await expect(run(Uint8Array.of(9, 0, 0, 0))).rejects.toThrow("string 0 ends at 13 of 4 bytes");
  const { outputs } = await run(stringBytes("a", "b", "c"));
  expect(Buffer.from(outputs[0]?.bytes ?? []).equals(stringBytes("a", "b", "c"))).toBe(true);
  await executor.close();
});

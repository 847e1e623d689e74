/** Embeds tensors whose bytes lie in other files, from the model's own folder only. */
import { realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep, win32 } from "node:path";
import { openRegular } from "stratagem-runtime/internal/base/regular-file";
import { bodiesOf } from "./node-values.ts";
import { OnnxModelError } from "./onnx-model-error.ts";
import {
  type AttributeProto,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type SparseTensorProto,
  type TensorProto,
  TensorProto_DataLocation,
  TensorProto_DataType,
} from "./onnx-pb.ts";
import { MAX_MODEL_BYTES } from "./stage-model.ts";

/** Bytes per element, for elements of whole bytes. */
const ELEMENT_BYTES: ReadonlyMap<number, number> = new Map([
  [TensorProto_DataType.FLOAT, 4],
  [TensorProto_DataType.DOUBLE, 8],
  [TensorProto_DataType.FLOAT16, 2],
  [TensorProto_DataType.BFLOAT16, 2],
  [TensorProto_DataType.BOOL, 1],
  [TensorProto_DataType.INT8, 1],
  [TensorProto_DataType.UINT8, 1],
  [TensorProto_DataType.INT16, 2],
  [TensorProto_DataType.UINT16, 2],
  [TensorProto_DataType.INT32, 4],
  [TensorProto_DataType.UINT32, 4],
  [TensorProto_DataType.INT64, 8],
  [TensorProto_DataType.UINT64, 8],
]);

/**
 * Replaces references to files by their bytes.
 * @param folder of the model file.
 * @throws OnnxModelError naming tensor and location if a location leaves the folder, or the file is
 * missing or too short; without the model's name.
 */
export async function embedExternalData(model: ModelProto, folder: string): Promise<void> {
  let total = 0;
  for (const tensor of tensorsOf(model)) {
    if (tensor.dataLocation !== TensorProto_DataLocation.EXTERNAL) continue;
    tensor.rawData = await externalBytes(tensor, folder);
    tensor.dataLocation = TensorProto_DataLocation.DEFAULT;
    tensor.externalData = [];
    total += tensor.rawData.length;
    if (total > MAX_MODEL_BYTES) {
      const found = `expected at most ${MAX_MODEL_BYTES} bytes of external data`;
      throw new OnnxModelError(`${found}, the limit of a stage's file; found more`);
    }
  }
}

async function externalBytes(tensor: TensorProto, folder: string): Promise<Uint8Array> {
  const entries = new Map(tensor.externalData.map(({ key, value }) => [key, value]));
  const location = entries.get("location") ?? "";
  const where = `tensor "${tensor.name}": external data at "${location}"`;
  const path = await pathInside(folder, location, where);
  const { file, size } = await openRegular(path).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OnnxModelError(`${where}: expected a readable file, got: ${reason}`);
  });
  try {
    const offset = wholeNumber(entries.get("offset") ?? "0", `${where}: offset`);
    const rest = Math.max(0, size - offset);
    const length = wholeNumber(entries.get("length") ?? String(rest), `${where}: length`);
    if (offset + length > size) {
      const expected = `expected ${length} bytes from ${offset} on`;
      throw new OnnxModelError(`${where}: ${expected}; the file has ${size} bytes`);
    }
    checkSize(tensor, length, where);
    if (length > MAX_MODEL_BYTES) {
      throw new OnnxModelError(
        `${where}: expected at most ${MAX_MODEL_BYTES} bytes, got ${length}`,
      );
    }
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const { bytesRead } = await file.read(bytes, at, length - at, offset + at);
      if (bytesRead === 0) throw new OnnxModelError(`${where}: the file ends while it is read`);
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

function checkSize({ dims, dataType }: TensorProto, length: number, where: string): void {
  const elementBytes = ELEMENT_BYTES.get(dataType);
  if (elementBytes === undefined) return;
  const expected = dims.reduce((product, size) => product * Number(size), elementBytes);
  if (length === expected) return;
  const shape = `the shape [${dims.join(", ")}] of elements of ${elementBytes} bytes`;
  throw new OnnxModelError(`${where}: expected ${expected} bytes for ${shape}, got ${length}`);
}

/** Resolves the file, following links. */
async function pathInside(folder: string, location: string, where: string): Promise<string> {
  const allowed = "allowed: a file inside the model's folder";
  // Models are untrusted: a name must not lead elsewhere on another operating system.
  const parts = location.split(/[\\/]/);
  const leaves = isAbsolute(location) || win32.isAbsolute(location) || parts.includes("..");
  if (location === "" || leaves) throw new OnnxModelError(`${where}; ${allowed}`);
  const path = await existing(join(folder, location), where);
  const fromFolder = relative(await existing(folder, where), path);
  if (fromFolder === ".." || fromFolder.startsWith(`..${sep}`) || isAbsolute(fromFolder)) {
    throw new OnnxModelError(`${where} is a link to ${path}; ${allowed}`);
  }
  return path;
}

async function existing(path: string, where: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OnnxModelError(`${where}: expected a readable file, got: ${reason}`);
  }
}

function wholeNumber(text: string, where: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new OnnxModelError(`${where}: expected an integer number of bytes, got "${text}"`);
}

/** Yields every constant of a model, including those in bodies and functions. */
export function* tensorsOf({ graph, functions }: ModelProto): Generator<TensorProto> {
  if (graph !== undefined) yield* graphTensors(graph);
  for (const { node, attributeProto } of functions) {
    yield* nodeTensors(node);
    yield* attributeTensors(attributeProto);
  }
}

function* graphTensors(graph: GraphProto): Generator<TensorProto> {
  yield* graph.initializer;
  for (const sparse of graph.sparseInitializer) yield* partsOf(sparse);
  yield* nodeTensors(graph.node);
}

function* nodeTensors(nodes: readonly NodeProto[]): Generator<TensorProto> {
  for (const node of nodes) {
    yield* attributeTensors(node.attribute);
    for (const body of bodiesOf(node)) yield* graphTensors(body);
  }
}

function* attributeTensors(attributes: readonly AttributeProto[]): Generator<TensorProto> {
  for (const { t, tensors, sparseTensor, sparseTensors } of attributes) {
    if (t !== undefined) yield t;
    yield* tensors;
    if (sparseTensor !== undefined) yield* partsOf(sparseTensor);
    for (const sparse of sparseTensors) yield* partsOf(sparse);
  }
}

function* partsOf({ values, indices }: SparseTensorProto): Generator<TensorProto> {
  if (values !== undefined) yield values;
  if (indices !== undefined) yield indices;
}

/** The bundle's entry of a model file: its digest, and the tensors it takes and gives. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { ModelFile, TensorInfo } from "../../bundle/schema.ts";
import { wholeModel } from "../files/whole-model.ts";
import { InferenceSession } from "../tensors/onnxruntime.ts";
import { LOG_LEVELS } from "./session-options.ts";

/** Limits of a tensor in a bundle. */
const MAX_RANK = 16;
const MAX_SIZE = 2 ** 31;

/** A model file, its own tensors, and the names of their axes. */
export interface DescribedModel {
  readonly model: ModelFile;
  /** Axis names by tensor, one for each axis; empty for an axis without a name. */
  readonly axisNames: Readonly<Record<string, readonly string[]>>;
  /** Names of outputs that are not tensors: sequences and maps, which cannot be sent. */
  readonly others?: readonly string[];
}

/**
 * Loads a model far enough to know its tensors.
 * @throws Error if the model cannot be read or onnxruntime does not accept it.
 */
export async function describeModel(path: string): Promise<DescribedModel> {
  const bytes = await wholeModel(path, checkFormat);
  const session = await InferenceSession.create(bytes, {
    intraOpNumThreads: 1,
    logSeverityLevel: LOG_LEVELS.error,
  });
  try {
    const { inputMetadata, outputMetadata } = session;
    const given = outputMetadata.filter(({ isTensor }) => isTensor);
    const others = outputMetadata.filter(({ isTensor }) => !isTensor).map(({ name }) => name);
    const twice = given.find(({ name }, at) => given.some((o, i) => i < at && o.name === name));
    if (twice !== undefined) throw new Error(`two outputs are named "${twice.name}"`);
    const [other] = others;
    if (given.length === 0 && other !== undefined) throw noTensor("output", other);
    const model = {
      file: basename(path),
      sha256: createHash("sha256").update(bytes).digest("hex"),
      inputs: inputMetadata.map((metadata) => tensorInfo(metadata, "input")),
      outputs: given.map((metadata) => tensorInfo(metadata, "output")),
    };
    const tensors = [...inputMetadata, ...given];
    const axisNames = tensors.map((tensor) => [tensor.name, namesOf(tensor)] as const);
    const described = { model, axisNames: Object.fromEntries(axisNames) };
    return others.length === 0 ? described : { ...described, others };
  } finally {
    await session.release();
  }
}

/** @throws Error for files often mistaken for models, with what they are. */
function checkFormat(bytes: Uint8Array): void {
  const start = Buffer.from(bytes.subarray(0, 64)).toString("latin1");
  if (bytes.length === 0) throw new Error("the file is empty");
  if (start.startsWith("version https://git-lfs")) {
    throw new Error("the file is a Git LFS pointer; run git lfs pull");
  }
  if (/^\s*<(!doctype|html|\?xml)/i.test(start)) {
    throw new Error("the file is a web page; download the model itself");
  }
  if (start.slice(4, 8) !== "ORTM") return;
  throw new Error("the file is in the ORT format; use the .onnx file that it was converted from");
}

function noTensor(what: "input" | "output", name: string): Error {
  const hint =
    what === "input"
      ? "only tensors; export the model without sequences and optional inputs"
      : "at least one tensor; export a converted classifier with zipmap=False";
  return new Error(`${what} "${name}" is a sequence, a map or optional; expected ${hint}`);
}

function tensorInfo(
  metadata: InferenceSession.ValueMetadata,
  what: "input" | "output",
): TensorInfo {
  if (!metadata.isTensor) throw noTensor(what, metadata.name);
  const { length } = metadata.shape;
  if (length > MAX_RANK) {
    throw new Error(`"${metadata.name}" has ${length} dimensions; allowed: ${MAX_RANK}`);
  }
  const large = metadata.shape.find((size) => typeof size === "number" && size > MAX_SIZE);
  if (large !== undefined) {
    throw new Error(`"${metadata.name}" has a dimension of ${large}; allowed: ${MAX_SIZE}`);
  }
  return {
    name: metadata.name,
    dtype: metadata.type,
    shape: metadata.shape.map((size) => (typeof size === "number" && size > 0 ? size : -1)),
  };
}

function namesOf(metadata: InferenceSession.ValueMetadata): string[] {
  if (!metadata.isTensor) return [];
  return metadata.shape.map((size) => (typeof size === "string" ? size : ""));
}

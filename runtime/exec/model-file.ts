/** What the bundle records of a model file: its digest, and the tensors it takes and gives. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { ModelFile, TensorInfo } from "../bundle/schema.ts";
import { InferenceSession } from "./onnxruntime.ts";
import { checkSelfContained } from "./self-contained.ts";

/** Of a tensor, as bundles have them. */
const MAX_RANK = 16;
const MAX_SIZE = 2 ** 31;

/** A model file, its tensors as it has them, and the names that it gives to their axes. */
export interface DescribedModel {
  readonly model: ModelFile;
  /** By tensor, for each axis; empty for one without a name. */
  readonly axisNames: Readonly<Record<string, readonly string[]>>;
}

/**
 * Loads a model far enough to know its tensors.
 * @throws Error if the file is unreadable, not a model this onnxruntime accepts, or not all of it.
 */
export async function describeModel(path: string): Promise<DescribedModel> {
  const bytes = await readFile(path);
  checkSelfContained(bytes);
  const session = await InferenceSession.create(bytes, { intraOpNumThreads: 1 });
  try {
    const model = {
      file: basename(path),
      sha256: createHash("sha256").update(bytes).digest("hex"),
      inputs: session.inputMetadata.map(tensorInfo),
      outputs: session.outputMetadata.map(tensorInfo),
    };
    const tensors = [...session.inputMetadata, ...session.outputMetadata];
    const axisNames = tensors.map((tensor) => [tensor.name, namesOf(tensor)] as const);
    return { model, axisNames: Object.fromEntries(axisNames) };
  } finally {
    await session.release();
  }
}

function tensorInfo(metadata: InferenceSession.ValueMetadata): TensorInfo {
  if (!metadata.isTensor) throw new Error(`"${metadata.name}" is not a tensor`);
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

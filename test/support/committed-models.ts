/** The models of this repository, and those of packages that its policies name, for workers. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Of } from "../../lab/models/model-files.ts";
import { linkModels } from "../../lab/models/ocr/models.ts";
import type { TensorInfo } from "../../runtime/bundle/schema.ts";
import { loadBundle } from "../../runtime/bundles/load-bundle.ts";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";
import { InferenceSession } from "../../runtime/exec/tensors/onnxruntime.ts";
import { servedModels } from "../../runtime/host/served-models.ts";

/** Who runs them says by which sizes. */
const WARM_BATCHES: readonly number[] = [];

/**
 * Paths of all ONNX files in `models` and `policies`, those of one content together; links to
 * packages are none.
 */
export function committedFiles(): string[][] {
  const ofContent = new Map<string, string[]>();
  for (const folder of ["models", "policies"]) {
    for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
      if (!file.endsWith(".onnx") || file.startsWith(join("ocr", ""))) continue;
      const path = join(folder, file);
      const sha256 = sha256Of(readFileSync(path));
      ofContent.set(sha256, [...(ofContent.get(sha256) ?? []), path]);
    }
  }
  return [...ofContent.values()];
}

/** A file with its own tensors. */
export async function modelOf(path: string): Promise<VariantModel> {
  const session = await InferenceSession.create(path);
  const [inputs, outputs] = [session.inputMetadata, session.outputMetadata].map(tensorsOf);
  await session.release();
  const tensors = { inputs: inputs ?? [], outputs: outputs ?? [] };
  return { name: path, path, ...tensors, warmBatches: WARM_BATCHES, outputsAreRows: false };
}

/**
 * Of the packages: a model of voices, what finds lines of text and what reads them, bound as their
 * policies say, but for the sizes of pictures, which would take a minute each.
 */
export async function packagedModels(): Promise<VariantModel[]> {
  linkModels();
  const voices = join("node_modules", "@jjhbw", "silero-vad", "weights");
  const models = [
    ...(await modelsOf("voice", voices)),
    ...(await modelsOf("ocr", join("models", "ocr"))),
    ...(await modelsOf("ocr-inferline", join("models", "ocr"))),
  ];
  const ofFiles = new Map(models.map((model) => [model.path, model]));
  return [...ofFiles.values()].filter(({ module }) => module === undefined).map(withSmallPictures);
}

/** A multiple of what pictures are made smaller by on the way. */
const SMALL_SIDE = 64;

function withSmallPictures(model: VariantModel): VariantModel {
  const { inputs, adapter } = model;
  const smaller = <T extends { readonly shape: readonly number[] }>(tensor: T): T => {
    const [rows = 0, channels = 0, ...sides] = tensor.shape;
    const small = sides.map((side) => Math.min(side, SMALL_SIDE));
    return sides.length === 2 ? { ...tensor, shape: [rows, channels, ...small] } : tensor;
  };
  if (adapter === undefined) return { ...model, inputs: inputs.map(smaller) };
  const own = { ...adapter, inputs: adapter.inputs.map(smaller) };
  return { ...model, inputs: inputs.map(smaller), adapter: own };
}

async function modelsOf(policy: string, folder: string): Promise<VariantModel[]> {
  const { bundle } = await loadBundle(join("policies", policy, "bundle.msgpack"));
  const models = await servedModels(bundle, folder);
  return models.map((model) => ({ ...model, warmBatches: WARM_BATCHES }));
}

function tensorsOf(values: readonly InferenceSession.ValueMetadata[]): TensorInfo[] {
  return values.map((value) => {
    if (!value.isTensor) throw new Error(`${value.name} is no tensor`);
    const shape = value.shape.map((size) => (typeof size === "number" ? size : -1));
    return { name: value.name, dtype: value.type, shape };
  });
}

/** Models that are ONNX files of a folder, named by their files without the extension. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { VariantModel } from "../exec/models/executor.ts";
import type { DescribedModel } from "../exec/onnx/model-file.ts";
import { ModelReader } from "../exec/process/model-reader.ts";
import { OpenedModels } from "../exec/process/opened-models.ts";
import { type AgentModel, agentModel, NoModelError } from "./agent-model.ts";

const ENDING = ".onnx";
/** Maximum number of cached descriptions, by the digest of the file. */
const MAX_KEPT = 256;

/** A model whose file is open. */
export interface FoundModel {
  readonly model: AgentModel;
  /** Closes the file; processes that have inherited the descriptor keep theirs. */
  close(): Promise<void>;
}

export class ModelFolder {
  readonly #folder: string;
  readonly #described = new Map<string, Pick<VariantModel, "inputs" | "outputs">>();
  /** Serializes reads: one model at a time. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the names of all models in the folder, sorted. @throws Error of the file system. */
  async names(): Promise<string[]> {
    const entries = await readdir(this.#folder);
    const files = entries.filter((file) => file.endsWith(ENDING) && file.length > ENDING.length);
    return files.map((file) => file.slice(0, -ENDING.length)).sort();
  }

  /** Returns undefined if no such file exists. @throws NoModelError for an invalid file. */
  async find(name: string): Promise<FoundModel | undefined> {
    const names = await this.names();
    // Only names that the folder lists become paths.
    return names.includes(name) ? this.open(name, join(this.#folder, name + ENDING)) : undefined;
  }

  /** @throws NoModelError if it is not a model, or cannot be read. */
  async open(name: string, path: string): Promise<FoundModel> {
    const files = new OpenedModels();
    try {
      const { axisNames: _, ...opened } = await files.open(path);
      const { sha256 } = opened;
      const tensors = await this.#tensorsOf(path, sha256);
      const variant: VariantModel = {
        name,
        path,
        opened,
        ...tensors,
        warmBatches: [1],
        mayRefuseZeros: true,
        outputsAreRows: false,
      };
      return { model: agentModel(name, variant, sha256), close: () => files.close() };
    } catch (error) {
      await files.close();
      if (error instanceof NoModelError) throw error;
      throw new NoModelError(`${path}: ${error instanceof Error ? error.message : error}`);
    }
  }

  async #tensorsOf(path: string, sha256: string) {
    const known = this.#described.get(sha256);
    if (known !== undefined) return known;
    const reading = this.#reading.then(() => described(path));
    this.#reading = reading.catch(() => {});
    const { model } = await reading;
    if (model.sha256 !== sha256) throw new NoModelError("the file changed while it was read");
    const { inputs, outputs } = model;
    if (this.#described.size >= MAX_KEPT) this.#described.clear();
    this.#described.set(sha256, { inputs, outputs });
    return { inputs, outputs };
  }
}

/** Reads the file in a separate process, which an invalid model may crash. */
async function described(path: string): Promise<DescribedModel> {
  const never = new AbortController();
  const reader = new ModelReader(never.signal);
  try {
    return await reader.describe(path);
  } finally {
    reader.close();
  }
}

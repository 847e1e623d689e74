/**
 * A variant of several ONNX files inside a worker: they run one after the other on the same rows,
 * and intermediate values stay on the device that made them.
 */
import type { Provider, TensorInfo } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import type { BatchResult, VariantModel, VariantPart } from "../models/executor.ts";
import { type LoadedModel, measuredRun, oneLine } from "../models/loaded-model.ts";
import { factsOf, type LoadFacts } from "../models/model-facts.ts";
import { filesOf } from "../models/variant-files.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { feedsOf, outputOf } from "../tensors/batch-tensors.ts";
import type { InferenceSession, Tensor } from "../tensors/onnxruntime.ts";
import { checkOpenAxes, checkTensors } from "../tensors/promised-tensors.ts";
import { firstRuns } from "./first-runs.ts";
import { loadError } from "./load-error.ts";
import { type OpenedSession, openSession } from "./open-session.ts";
import { LOG_LEVELS } from "./session-options.ts";

/**
 * Element types that the binding keeps on the device between files, by provider; others pass
 * through memory of the CPU. The binding of onnxruntime-node 1.30 has no CUDA tensors
 * (docs/decisions/0023).
 */
const KEPT_ON_DEVICE: Readonly<Partial<Record<Provider, readonly string[]>>> = {
  webgpu: ["float32", "float16", "int32", "uint32"],
};

type Outputs = InferenceSession.OnnxValueMapType;

type Inputs = readonly Uint8Array<ArrayBuffer>[];

/** A loaded file of the chain. */
interface Link extends OpenedSession {
  readonly takes: readonly string[];
  /** Outputs to fetch: always the same ones, since the binding remembers what it was asked for. */
  readonly gives: readonly string[];
  /** Values that no later file takes. */
  readonly lastUsed: readonly string[];
}

export class OnnxChain implements LoadedModel {
  facts: LoadFacts = factsOf(0);
  readonly #variant: VariantModel;
  readonly #cores: number;
  readonly #links: readonly Link[];

  private constructor(variant: VariantModel, cores: number, links: readonly Link[]) {
    this.#variant = variant;
    this.#cores = cores;
    this.#links = links;
  }

  /**
   * Loads all files with as many threads as cores, and warms them up as one model.
   * @param parts the files after the first. @param onStep called with the name of the next step,
   * which may take long.
   * @throws Error naming variant, file and device if the device is absent or a file does not match.
   */
  static async load(
    variant: VariantModel,
    parts: readonly VariantPart[],
    cores: number,
    setup: WorkerSetup,
    onStep: (step: string) => void = () => {},
  ): Promise<OnnxChain> {
    const links: Link[] = [];
    const files = filesOf(variant);
    let path = variant.path;
    try {
      checkOpenAxes(variant.inputs);
      const startMs = performance.now();
      for (const [index, file] of files.entries()) {
        path = file.path;
        const which = `file ${index + 1} of ${files.length}`;
        onStep(`loading ${which} for ${cores} ${cores === 1 ? "core" : "cores"}`);
        links.push(await openLink(variant, parts, index, cores, setup));
      }
      path = files.map((file) => file.path).join(", ");
      const loadMs = performance.now() - startMs;
      const chain = new OnnxChain(variant, cores, links);
      chain.facts = { loadMs, ...(await chain.#firstRuns(setup, onStep)) };
      return chain;
    } catch (error) {
      for (const { session } of links) await session.release();
      throw await loadError(variant, path, setup, error);
    } finally {
      for (const { profile } of links) profile?.remove();
    }
  }

  /** @throws Error if the bytes do not make a batch of `rows` or a file refuses it. */
  async run(rows: number, inputs: Inputs): Promise<BatchResult> {
    try {
      const feeds = feedsOf(this.#variant.inputs, rows, inputs);
      return await measuredRun(this.#cores, () => this.#runLinks(feeds, rows));
    } catch (error) {
      throw new Error(oneLine(error));
    }
  }

  /** Frees its memory; it runs no more batches. */
  async release(): Promise<void> {
    for (const { session } of this.#links) await session.release();
  }

  #firstRuns(setup: WorkerSetup, onStep: (step: string) => void) {
    const quiet = { logSeverityLevel: LOG_LEVELS.fatal };
    const model = {
      variant: this.#variant,
      opened: this.#links,
      run: (rows: number, inputs: Inputs) => this.run(rows, inputs),
      tryRun: async (rows: number, inputs: Inputs) =>
        this.#runLinks(feedsOf(this.#variant.inputs, rows, inputs), rows, quiet),
    };
    return firstRuns(model, setup, onStep);
  }

  async #runLinks(
    feeds: Readonly<Record<string, Tensor>>,
    rows: number,
    options: InferenceSession.RunOptions = {},
  ): Promise<BatchResult["outputs"]> {
    const values = new Map(Object.entries(feeds));
    try {
      const given = await this.#lastOutputs(values, options);
      const expectedRows = this.#variant.outputsAreRows === false ? null : rows;
      return this.#variant.outputs.map(({ name }) => outputOf(name, given[name], expectedRows));
    } finally {
      // Empty unless a file refused its inputs.
      for (const name of values.keys()) drop(values, name);
    }
  }

  /** @param values inputs by name; removed from it after their last use. */
  async #lastOutputs(
    values: Map<string, Tensor>,
    options: InferenceSession.RunOptions,
  ): Promise<Outputs> {
    let given: Outputs = {};
    for (const { session, takes, gives, lastUsed } of this.#links) {
      const feeds: Record<string, Tensor> = {};
      for (const name of takes) {
        const value = values.get(name);
        assert(value !== undefined, "a value is kept until its last use");
        feeds[name] = value;
      }
      given = await session.run(feeds, gives, options);
      for (const name of lastUsed) drop(values, name);
      if (session === this.#links.at(-1)?.session) break;
      for (const [name, tensor] of Object.entries(given)) {
        drop(values, name);
        values.set(name, tensor);
      }
    }
    return given;
  }
}

/** Frees device memory at once: the garbage collector does not see how large it is. */
function drop(values: Map<string, Tensor>, name: string): void {
  const value = values.get(name);
  values.delete(name);
  if (value !== undefined && value.location !== "cpu") value.dispose();
}

async function openLink(
  variant: VariantModel,
  parts: readonly VariantPart[],
  index: number,
  cores: number,
  setup: WorkerSetup,
): Promise<Link> {
  const file = filesOf(variant)[index];
  assert(file !== undefined, "every link has a file");
  const isLast = index === parts.length;
  const given: readonly Named[] = isLast ? variant.outputs : handedBy(variant, parts, index);
  const kept = KEPT_ON_DEVICE[setup.on.provider] ?? [];
  const staying = isLast ? [] : given.filter(({ dtype }) => kept.includes(dtype));
  const opened = await openSession(file, setup, cores, locationsOf(staying, given));
  const { session } = opened;
  try {
    checkLink(variant, parts[index - 1], given, session);
  } catch (error) {
    await session.release();
    opened.profile?.remove();
    throw error;
  }
  // If outputs lie in several places, the binding requires all of them to be fetched.
  const isMixed = staying.length > 0 && staying.length < given.length;
  const later = parts.slice(index).flatMap(({ inputs }) => inputs.map(({ name }) => name));
  return {
    ...opened,
    takes: session.inputNames,
    gives: isMixed ? session.outputNames : given.map(({ name }) => name),
    lastUsed: session.inputNames.filter((name) => !later.includes(name)),
  };
}

type Named = Pick<TensorInfo, "name" | "dtype">;

/** Returns the values that a file gives and later ones take, each once. */
function handedBy(variant: VariantModel, parts: readonly VariantPart[], index: number): Named[] {
  const handed = new Map<string, Named>();
  for (const [at, { inputs }] of parts.entries()) {
    if (at < index) continue;
    for (const { name, dtype } of inputs) {
      if (giverOf(name, variant, parts.slice(0, at)) === index) handed.set(name, { name, dtype });
    }
  }
  return [...handed.values()];
}

/**
 * Returns the index of the file that gives a value, the last one before; null for an input of the
 * variant.
 */
function giverOf(
  name: string,
  { inputs }: VariantModel,
  before: readonly VariantPart[],
): number | null {
  const part = before.findLastIndex(({ outputs }) => outputs.some((each) => each.name === name));
  if (part >= 0) return part + 1;
  return inputs.some((each) => each.name === name) ? null : 0;
}

function locationsOf(
  staying: readonly Named[],
  given: readonly Named[],
): Pick<InferenceSession.SessionOptions, "preferredOutputLocation"> {
  if (staying.length === 0) return {};
  if (staying.length === given.length) return { preferredOutputLocation: "gpu-buffer" };
  const locations = staying.map(({ name }) => [name, "gpu-buffer"] as const);
  return { preferredOutputLocation: Object.fromEntries(locations) };
}

/** @throws Error if a file lacks the tensors that its place in the chain requires. */
function checkLink(
  variant: VariantModel,
  part: VariantPart | undefined,
  given: readonly Named[],
  { inputMetadata, outputMetadata }: InferenceSession,
): void {
  const taken = part?.inputs ?? variant.inputs;
  const own = inputMetadata.map(({ name }) => name);
  // The first file may take only some of the variant's inputs.
  checkTensors(
    "input",
    part?.inputs ?? taken.filter(({ name }) => own.includes(name)),
    inputMetadata,
  );
  for (const { name, dtype } of given) {
    const found = outputMetadata.find((output) => output.name === name);
    if (found?.isTensor && found.type === dtype) continue;
    const names = outputMetadata.map((output) => output.name).join(", ");
    throw new Error(`expected an output "${name}", ${dtype}; has ${names}`);
  }
}

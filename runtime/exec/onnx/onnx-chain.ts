/**
 * A variant of several ONNX files inside a worker: they run one after the other for the same rows,
 * and what one hands to the next stays where it was made.
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
 * Providers whose outputs the binding leaves on the device, and takes from there, by element type:
 * others are handed on through memory of the CPU. Of CUDA the binding of onnxruntime-node 1.30
 * knows no tensors (docs/decisions/0023).
 */
const KEPT_ON_DEVICE: Readonly<Partial<Record<Provider, readonly string[]>>> = {
  webgpu: ["float32", "float16", "int32", "uint32"],
};

type Outputs = InferenceSession.OnnxValueMapType;

type Inputs = readonly Uint8Array<ArrayBuffer>[];

/** A file of the chain, loaded. */
interface Link extends OpenedSession {
  readonly takes: readonly string[];
  /** Asked of the session: always the same, since its binding remembers what it was asked for. */
  readonly gives: readonly string[];
  /** Values that no file after it takes. */
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
   * Loads all files with as many threads as cores, and warms them up as the one model that they
   * are.
   * @param parts those after the first. @param onStep told what comes next, which may take long.
   * @throws Error naming variant, file and device if the device is absent or a file not what was
   * promised.
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

  /** Gives its memory back; it runs no more batches. */
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
      // None unless a file refused its inputs.
      for (const name of values.keys()) drop(values, name);
    }
  }

  /** @param values the inputs by name; those that were used last are gone from it. */
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

/** Memory of a device is given back at once: the collector does not see how much it is. */
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
  assert(file !== undefined, "a link is of a file there is");
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
  // Where its outputs lie in several places, the binding counts these by what it is asked for.
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

/** Values that a file gives and later ones take, each once. */
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

/** Which file a value is from: the last one before that gives it; null for who asks. */
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

/** @throws Error if a file has not the tensors that its place in the chain asks of it. */
function checkLink(
  variant: VariantModel,
  part: VariantPart | undefined,
  given: readonly Named[],
  { inputMetadata, outputMetadata }: InferenceSession,
): void {
  const taken = part?.inputs ?? variant.inputs;
  const own = inputMetadata.map(({ name }) => name);
  // Of what the variant takes the first file may take some.
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

/**
 * A variant of several ONNX files inside a worker: they run one after the other for the same rows,
 * and what one hands to the next stays where it was made.
 */
import type { Provider, TensorInfo } from "../bundle/schema.ts";
import { assert } from "../core/assert.ts";
import type { BatchResult, VariantModel, VariantPart } from "./executor.ts";
import { type LoadedModel, oneLine } from "./loaded-model.ts";
import { modelBytes } from "./model-bytes.ts";
import {
  checkOpenAxes,
  checkTensors,
  feedsOf,
  loadError,
  outputOf,
  WARM_RUNS,
  type WorkerSetup,
  zerosOf,
} from "./onnx-session.ts";
import { type InferenceSession, InferenceSession as Sessions, type Tensor } from "./onnxruntime.ts";
import { sessionOptions } from "./session-options.ts";
import { filesOf } from "./variant-files.ts";

/**
 * Providers whose outputs the binding leaves on the device, and takes from there, by element type:
 * others are handed on through memory of the CPU. Of CUDA the binding of onnxruntime-node 1.30
 * knows no tensors (docs/decisions/0023).
 */
const KEPT_ON_DEVICE: Readonly<Partial<Record<Provider, readonly string[]>>> = {
  webgpu: ["float32", "float16", "int32", "uint32"],
};

type Outputs = InferenceSession.OnnxValueMapType;

/** A file of the chain, loaded. */
interface Link {
  readonly session: InferenceSession;
  readonly takes: readonly string[];
  /** Asked of the session: always the same, since its binding remembers what it was asked for. */
  readonly gives: readonly string[];
  /** Values that no file after it takes. */
  readonly lastUsed: readonly string[];
}

export class OnnxChain implements LoadedModel {
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
    const chain = new OnnxChain(variant, cores, links);
    const files = filesOf(variant);
    let path = variant.path;
    try {
      checkOpenAxes(variant.inputs);
      for (const [index, file] of files.entries()) {
        path = file.path;
        const which = `file ${index + 1} of ${files.length}`;
        onStep(`loading ${which} for ${cores} ${cores === 1 ? "core" : "cores"}`);
        links.push(await openLink(variant, parts, index, cores, setup));
      }
      path = files.map((file) => file.path).join(", ");
      for (const rows of variant.warmBatches) {
        onStep(`its first runs with ${rows} ${rows === 1 ? "row" : "rows"}`);
        const zeros = zerosOf(variant, rows, 0);
        for (let run = 0; run < WARM_RUNS; run++) await chain.run(rows, zeros);
      }
      return chain;
    } catch (error) {
      await chain.release();
      throw await loadError(variant, path, setup, error);
    }
  }

  /** @throws Error if the bytes do not make a batch of `rows` or a file refuses it. */
  async run(rows: number, inputs: readonly Uint8Array<ArrayBuffer>[]): Promise<BatchResult> {
    const values = new Map<string, Tensor>();
    try {
      const feeds = feedsOf(this.#variant.inputs, rows, inputs);
      for (const [name, tensor] of Object.entries(feeds)) values.set(name, tensor);
      const cpuBefore = process.cpuUsage();
      const startMs = performance.now();
      const given = await this.#runLinks(values);
      const expectedRows = this.#variant.outputsAreRows === false ? null : rows;
      const outputs = this.#variant.outputs.map(({ name }) => {
        return outputOf(name, given[name], expectedRows);
      });
      const wallMs = performance.now() - startMs;
      const cpu = process.cpuUsage(cpuBefore);
      return { outputs, wallMs, cpuMs: (cpu.user + cpu.system) / 1000, cores: this.#cores };
    } catch (error) {
      throw new Error(oneLine(error));
    } finally {
      // None unless a file refused its inputs.
      for (const name of values.keys()) drop(values, name);
    }
  }

  /** Gives its memory back; it runs no more batches. */
  async release(): Promise<void> {
    for (const { session } of this.#links) await session.release();
  }

  /** @param values the inputs by name; those that were used last are gone from it. */
  async #runLinks(values: Map<string, Tensor>): Promise<Outputs> {
    let given: Outputs = {};
    for (const { session, takes, gives, lastUsed } of this.#links) {
      const feeds: Record<string, Tensor> = {};
      for (const name of takes) {
        const value = values.get(name);
        assert(value !== undefined, "a value is kept until its last use");
        feeds[name] = value;
      }
      given = await session.run(feeds, gives);
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
  const session = await Sessions.create(modelBytes(file), {
    ...sessionOptions(setup.on, cores),
    ...locationsOf(staying, given),
  });
  try {
    checkLink(variant, parts[index - 1], given, session);
  } catch (error) {
    await session.release();
    throw error;
  }
  // Where its outputs lie in several places, the binding counts these by what it is asked for.
  const isMixed = staying.length > 0 && staying.length < given.length;
  const later = parts.slice(index).flatMap(({ inputs }) => inputs.map(({ name }) => name));
  return {
    session,
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

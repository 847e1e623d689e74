/**
 * A variant of several ONNX files inside a worker: they run one after the other for the same rows,
 * and what one hands to the next stays where it was made.
 */
import type { Provider, TensorInfo } from "../bundle/schema.ts";
import { assert } from "../core/assert.ts";
import type { BatchResult, VariantFile, VariantModel, VariantPart } from "./executor.ts";
import { type LoadedModel, oneLine } from "./loaded-model.ts";
import { modelBytes } from "./model-bytes.ts";
import { factsOf, type LoadFacts, refusalText } from "./model-facts.ts";
import { NOBODY_LOOKED, type Places, PlacesProfile, placesOf } from "./node-places.ts";
import {
  checkOpenAxes,
  checkTensors,
  feedsOf,
  firstRunsOf,
  loadError,
  outputOf,
  WARM_RUNS,
  type WorkerSetup,
  zerosOf,
} from "./onnx-session.ts";
import { type InferenceSession, InferenceSession as Sessions, type Tensor } from "./onnxruntime.ts";
import { LOG_LEVELS, sessionOptions } from "./session-options.ts";
import { filesOf } from "./variant-files.ts";
import { warmSizes } from "./warm-sizes.ts";

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
  /** Of its first run; null where nobody looks. */
  readonly profile: PlacesProfile | null;
  /** Opens it where every node has to be on the device. */
  readonly openStrictly: () => Promise<InferenceSession>;
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
  readonly facts: LoadFacts;

  private constructor(
    variant: VariantModel,
    cores: number,
    links: readonly Link[],
    facts: LoadFacts,
  ) {
    this.facts = facts;
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
      const bare = new OnnxChain(variant, cores, links, factsOf(loadMs));
      const sizes = warmSizes(variant, setup.on.provider);
      const places = await bare.#places(sizes[0] ?? 1, setup, onStep);
      for (const rows of sizes) {
        onStep(firstRunsOf(rows));
        const zeros = zerosOf(variant, rows, 0);
        for (let run = 0; run < WARM_RUNS; run++) await bare.run(rows, zeros);
      }
      const warmMs = sizes.length === 0 ? 0 : performance.now() - startMs - loadMs;
      return new OnnxChain(variant, cores, links, { loadMs, warmMs, ...places });
    } catch (error) {
      for (const { session } of links) await session.release();
      throw await loadError(variant, path, setup, error);
    } finally {
      for (const { profile } of links) profile?.remove();
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

  /**
   * Which nodes of all files run on the processor under a GPU provider: by a first run of the whole
   * chain. @throws Error if there are some, and that is refused.
   */
  async #places(rows: number, setup: WorkerSetup, onStep: (step: string) => void): Promise<Places> {
    if (setup.on.provider === "cpu") return NOBODY_LOOKED;
    onStep(firstRunsOf(rows));
    const first = this.run(rows, zerosOf(this.#variant, rows, 0));
    const all: Places[] = [];
    for (const { session, profile, openStrictly } of this.#links) {
      all.push(await placesOf(session, profile, { run: () => first, openStrictly }));
    }
    const nodes = all.map((each) => each.nodes);
    const places = {
      nodes: nodes.reduce((sum, each) => (sum === null || each === null ? null : sum + each), 0),
      cpuNodes: all.flatMap((each) => each.cpuNodes),
      hasFallback: all.some((each) => each.hasFallback),
    };
    if (!places.hasFallback || setup.cpuFallback !== "refuse") return places;
    throw new Error(refusalText(places));
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
  const profile = setup.on.provider === "cpu" ? null : PlacesProfile.begin();
  const session = await openedLink(file, setup, cores, {
    ...locationsOf(staying, given),
    ...profile?.options,
  }).catch((error) => {
    profile?.remove();
    throw error;
  });
  try {
    checkLink(variant, parts[index - 1], given, session);
  } catch (error) {
    await session.release();
    profile?.remove();
    throw error;
  }
  // Where its outputs lie in several places, the binding counts these by what it is asked for.
  const isMixed = staying.length > 0 && staying.length < given.length;
  const later = parts.slice(index).flatMap(({ inputs }) => inputs.map(({ name }) => name));
  return {
    session,
    profile,
    openStrictly: () =>
      openedLink(file, setup, cores, { logSeverityLevel: LOG_LEVELS.fatal }, STRICT),
    takes: session.inputNames,
    gives: isMixed ? session.outputNames : given.map(({ name }) => name),
    lastUsed: session.inputNames.filter((name) => !later.includes(name)),
  };
}

const STRICT = { disable_cpu_ep_fallback: "1" };

function openedLink(
  file: VariantFile,
  setup: WorkerSetup,
  cores: number,
  own: InferenceSession.SessionOptions,
  more: Readonly<Record<string, string>> = {},
): Promise<InferenceSession> {
  const bytes = modelBytes(file);
  return Sessions.create(bytes, { ...sessionOptions(setup, cores, bytes, more), ...own });
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

/** Models inside a worker: their sessions, and running a batch on one. */

import { createRequire } from "node:module";
import type { TensorInfo } from "../bundle/schema.ts";
import { bucketCount, bucketSizes, rowShapeIn } from "../bundle/schema.ts";
import { assert } from "../core/assert.ts";
import { whatIsMissing } from "../devices/whats-missing.ts";
import { AdaptedModel } from "./adapter/adapted-model.ts";
import type { BatchResult, VariantModel } from "./executor.ts";
import { type LoadedModel, oneLine } from "./loaded-model.ts";
import { modelBytes } from "./model-bytes.ts";
import { type CpuFallback, type LoadFacts, refusalText } from "./model-facts.ts";
import { NOBODY_LOOKED, type Places, PlacesProfile, placesOf } from "./node-places.ts";
import { fillWithNoise } from "./noise.ts";
import { type InferenceSession, InferenceSession as Sessions, type Tensor } from "./onnxruntime.ts";
import { LOG_LEVELS, sessionOptions } from "./session-options.ts";
import { encodeStrings } from "./string-data.ts";
import { type TensorData, tensorData } from "./tensor-data.ts";
import { warmSizes } from "./warm-sizes.ts";
import { deviceText, type WorkerDevice } from "./worker-device.ts";

/** What the server tells a worker to become; sent as JSON. */
export interface WorkerSetup {
  readonly variants: readonly VariantModel[];
  /** Cores of a batch, as long as nobody scales. */
  readonly threads: number;
  readonly on: WorkerDevice;
  /**
   * Whether the device may be absent, which the error says better than the log lines of its
   * library.
   */
  readonly trying: boolean;
  /**
   * Null where a worker loads all variants at its start. Otherwise it loads what it is assigned,
   * and keeps as many loaded, the last used ones.
   */
  readonly keptModels: number | null;
  /** Whether nodes that a GPU leaves to the processor are allowed; left out, they are. */
  readonly cpuFallback?: CpuFallback;
}

/**
 * The first run of a small model takes up to 2.4 times as long as later ones; the second is usual.
 */
export const WARM_RUNS = 2;

export class OnnxModel implements LoadedModel {
  readonly facts: LoadFacts;
  readonly #variant: VariantModel;
  readonly #cores: number;
  readonly #session: InferenceSession;
  readonly #adapted: AdaptedModel | null;

  private constructor(
    variant: VariantModel,
    cores: number,
    session: InferenceSession,
    facts: LoadFacts,
  ) {
    this.facts = facts;
    this.#variant = variant;
    this.#cores = cores;
    this.#session = session;
    this.#adapted =
      variant.adapter === undefined ? null : new AdaptedModel(variant, variant.adapter);
  }

  /**
   * Loads a variant with as many threads as cores, which a session keeps for its life, and warms it
   * up. Under a GPU provider it finds out which nodes that leaves to the processor.
   * @param onStep told what comes next, which may take long.
   * @throws Error naming variant and device if the device is absent, the model not what was
   * promised, or nodes fall back where that is refused.
   */
  static async load(
    variant: VariantModel,
    cores: number,
    setup: WorkerSetup,
    onStep: (step: string) => void = () => {},
  ): Promise<OnnxModel> {
    try {
      onStep(`loading it for ${cores} ${cores === 1 ? "core" : "cores"}`);
      const startMs = performance.now();
      const profile = setup.on.provider === "cpu" ? null : PlacesProfile.begin();
      try {
        const bytes = modelBytes(variant);
        const options = { ...sessionOptions(setup, cores, bytes), ...profile?.options };
        const session = await Sessions.create(bytes, options);
        checkModel(variant, session);
        const loadMs = performance.now() - startMs;
        const bare = { loadMs, warmMs: 0, ...NOBODY_LOOKED };
        const model = new OnnxModel(variant, cores, session, bare);
        const places = await model.#places(profile, setup, onStep);
        const sizes = warmSizes(variant, setup.on.provider);
        const isOnGpu = setup.on.provider !== "cpu";
        for (const rows of sizes) await model.#warm(rows, isOnGpu, onStep);
        const warmMs = sizes.length === 0 ? 0 : performance.now() - startMs - loadMs;
        return new OnnxModel(variant, cores, session, { loadMs, warmMs, ...places });
      } finally {
        profile?.remove();
      }
    } catch (error) {
      throw await loadError(variant, variant.path, setup, error);
    }
  }

  /**
   * @param bucket which of its sizes the rows have.
   * @throws Error if the bytes do not make a batch of `rows` or the model refuses it.
   */
  async run(
    rows: number,
    inputs: readonly Uint8Array<ArrayBuffer>[],
    bucket = 0,
  ): Promise<BatchResult> {
    try {
      const adapted = this.#adapted;
      const feeds =
        adapted?.feeds(rows, inputs, bucket) ?? feedsOf(this.#variant.inputs, rows, inputs);
      const cpuBefore = process.cpuUsage();
      const startMs = performance.now();
      const fetched =
        adapted === null
          ? await this.#session.run(feeds)
          : await this.#session.run(feeds, adapted.outputNames);
      const outputs = this.#outputs(fetched, rows);
      const wallMs = performance.now() - startMs;
      const cpu = process.cpuUsage(cpuBefore);
      const cpuMs = (cpu.user + cpu.system) / 1000;
      return { outputs, wallMs, cpuMs, cores: this.#cores };
    } catch (error) {
      throw new Error(oneLine(error));
    }
  }

  /** Gives its memory back; it runs no more batches. */
  release(): Promise<void> {
    return this.#session.release();
  }

  async #warm(rows: number, isOnGpu: boolean, onStep: (step: string) => void): Promise<void> {
    onStep(firstRunsOf(rows));
    const { buckets, mayRefuseZeros } = this.#variant;
    for (let bucket = 0; bucket < bucketCount(buckets); bucket++) {
      const zeros = zerosOf(this.#variant, rows, bucket);
      for (let run = 0; run < WARM_RUNS; run++) {
        if (mayRefuseZeros === true) await this.#tryRun(rows, zeros, bucket).catch(() => {});
        else await this.run(rows, zeros, bucket);
      }
      if (!isOnGpu) continue;
      // A detector finds nothing in zeros, and compiles nothing of what comes after.
      for (const [input, { dtype }] of this.#variant.inputs.entries()) {
        const bytes = zeros[input];
        if (bytes !== undefined) fillWithNoise(dtype, bytes);
      }
      await this.#tryRun(rows, zeros, bucket).catch(() => {});
    }
  }

  /** Whatever comes out of it, and without a word of onnxruntime where it refuses the values. */
  async #tryRun(
    rows: number,
    inputs: readonly Uint8Array<ArrayBuffer>[],
    bucket: number,
  ): Promise<unknown> {
    const own = this.#variant.inputs;
    const feeds = this.#adapted?.feeds(rows, inputs, bucket) ?? feedsOf(own, rows, inputs);
    return this.#session.run(feeds, { logSeverityLevel: LOG_LEVELS.fatal });
  }

  /** @throws Error if nodes fall back, and that is refused. */
  async #places(
    profile: PlacesProfile | null,
    setup: WorkerSetup,
    onStep: (step: string) => void,
  ): Promise<Places> {
    if (setup.on.provider === "cpu") return NOBODY_LOOKED;
    const rows = warmSizes(this.#variant, setup.on.provider)[0] ?? 1;
    onStep(firstRunsOf(rows));
    const places = await placesOf(this.#session, profile, {
      run: async () => this.#tryRun(rows, zerosOf(this.#variant, rows, 0), 0),
      openStrictly: () => {
        const bytes = modelBytes(this.#variant);
        const strict = { disable_cpu_ep_fallback: "1" };
        const options = sessionOptions(setup, this.#cores, bytes, strict);
        return Sessions.create(bytes, { ...options, logSeverityLevel: LOG_LEVELS.fatal });
      },
    });
    if (!places.hasFallback || setup.cpuFallback !== "refuse") return places;
    throw new Error(refusalText(places));
  }

  #outputs(fetched: InferenceSession.OnnxValueMapType, rows: number): BatchResult["outputs"] {
    const mayHaveOtherRows = this.#variant.outputsAreRows === false;
    if (this.#adapted !== null) return this.#adapted.outputs(rows, fetched, mayHaveOtherRows);
    const expectedRows = mayHaveOtherRows ? null : rows;
    return this.#session.outputNames.map((name) => outputOf(name, fetched[name], expectedRows));
  }
}

/** Tensors of a batch by name. @throws RangeError if the bytes do not make a batch of `rows`. */
export function feedsOf(
  infos: readonly TensorInfo[],
  rows: number,
  inputs: readonly Uint8Array<ArrayBuffer>[],
): Record<string, Tensor> {
  if (inputs.length !== infos.length) {
    throw new RangeError(`expected ${infos.length} inputs, got ${inputs.length}`);
  }
  const feeds: Record<string, Tensor> = {};
  for (const [index, info] of infos.entries()) {
    const bytes = inputs[index];
    assert(bytes !== undefined, "every input has bytes");
    feeds[info.name] = inputTensor(info, rows, bytes);
  }
  return feeds;
}

/** Inputs of zeros, be they numbers or text; an axis that stays open is 1. */
export function zerosOf(
  { inputs, buckets = [], adapter }: VariantModel,
  rows: number,
  bucket: number,
): Uint8Array<ArrayBuffer>[] {
  const sizes = bucketSizes(buckets, bucket);
  return inputs.map(({ dtype, shape }, input) => {
    const row = rowShapeIn(inputs, input, buckets, sizes).map((size) => Math.max(1, size));
    const whole = isFixed(shape) && adapter === undefined ? shape : [rows, ...row];
    return tensorData(dtype).zeros(elementCount(whole));
  });
}

/** What to say of a file that did not load, or not run its first batches. */
export async function loadError(
  { name }: VariantModel,
  path: string,
  { on }: WorkerSetup,
  error: unknown,
): Promise<Error> {
  const reason = oneLine(error);
  const told = (await whatIsMissing(on, reason, enginePath)) ?? reason;
  return new Error(`${name} (${path}) on ${deviceText(on)}: ${told}`);
}

/** Told before the first runs of a size. */
export function firstRunsOf(rows: number): string {
  return `its first runs with ${rows} ${rows === 1 ? "row" : "rows"}`;
}

/** @throws Error if names or element types are not those that were promised, in their order. */
function checkModel({ adapter, inputs, outputs }: VariantModel, session: InferenceSession): void {
  checkTensors("input", adapter?.inputs ?? inputs, session.inputMetadata);
  if (adapter === undefined) {
    checkTensors("output", outputs, session.outputMetadata);
    checkOpenAxes(inputs);
    return;
  }
  for (const { name } of adapter.outputs) {
    if (session.outputNames.includes(name)) continue;
    throw new Error(`expected an output "${name}"; has ${session.outputNames.join(", ")}`);
  }
}

export function checkTensors(
  what: string,
  promised: readonly Pick<TensorInfo, "name" | "dtype">[],
  found: readonly InferenceSession.ValueMetadata[],
): void {
  const expected = promised.map(({ name, dtype }) => `${name} ${dtype}`);
  const actual = found.map((value) => `${value.name} ${value.isTensor ? value.type : "no tensor"}`);
  if (expected.join() !== actual.join()) {
    throw new Error(`expected the ${what}s ${expected.join(", ")}; has ${actual.join(", ")}`);
  }
  for (const { dtype } of promised) tensorData(dtype);
}

export function checkOpenAxes(inputs: readonly TensorInfo[]): void {
  for (const { name, shape } of inputs) {
    if (shape.slice(1).filter((size) => size < 0).length <= 1) continue;
    const allowed = "only the first dimension and one other may be open";
    throw new Error(`input "${name}" has the shape [${shape.join(", ")}]; ${allowed}`);
  }
}

/**
 * A tensor of `rows` rows, or of exactly its shape where nothing in that is open, as between the
 * stages of a model.
 */
function inputTensor(info: TensorInfo, rows: number, bytes: Uint8Array<ArrayBuffer>): Tensor {
  const { name, dtype, shape } = info;
  if (!isFixed(shape)) return rowsTensor(info, rows, bytes);
  const data = tensorData(dtype);
  const expected = elementCount(shape);
  if (data.count(bytes) !== expected) {
    const found = `${dtype} [${shape.join(", ")}] takes ${sizeText(data, expected)}`;
    throw new RangeError(`input "${name}": ${found}, got ${foundText(data, bytes)}`);
  }
  return data.tensor(bytes, shape);
}

function rowsTensor(info: TensorInfo, rows: number, bytes: Uint8Array<ArrayBuffer>): Tensor {
  const { name, dtype, shape } = info;
  const data = tensorData(dtype);
  const count = data.count(bytes);
  const fixed = shape.slice(1).filter((size) => size >= 0);
  const elements = rows * elementCount(fixed);
  const openCount = shape.length - 1 - fixed.length;
  // At most one dimension is open, and follows from the length.
  const open = openCount === 1 ? count / elements : 1;
  if (!Number.isInteger(open) || count !== elements * open) {
    const expected = `${openCount > 0 ? "a multiple of " : ""}${sizeText(data, elements)}`;
    const found = `${rows} rows of ${dtype} [${shape.join(", ")}] take ${expected}`;
    throw new RangeError(`input "${name}": ${found}, got ${foundText(data, bytes)}`);
  }
  const dimensions = shape.slice(1).map((size) => (size >= 0 ? size : open));
  return data.tensor(bytes, [rows, ...dimensions]);
}

/** What that many elements take, in words. */
function sizeText({ elementBytes, isText }: TensorData, elements: number): string {
  return isText ? `${elements} strings` : `${elements * elementBytes} bytes`;
}

function foundText({ isText, count }: TensorData, bytes: Uint8Array<ArrayBuffer>): string {
  return String(isText ? count(bytes) : bytes.length);
}

function isFixed(shape: readonly number[]): boolean {
  return shape.every((size) => size >= 0);
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** @param rows null where the output may have any number of them. */
export function outputOf(name: string, tensor: Tensor | undefined, rows: number | null) {
  if (tensor === undefined) throw new Error(`output "${name}" is missing`);
  const { dims, data } = tensor;
  if (rows !== null && dims[0] !== rows) {
    throw new Error(`output "${name}" has the shape [${dims.join(", ")}] for ${rows} rows`);
  }
  if (!ArrayBuffer.isView(data)) return { shape: dims, bytes: encodeStrings(data) };
  return { shape: dims, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}

/** Of the package, whose libraries lie beside it. */
function enginePath(): string {
  return createRequire(import.meta.url).resolve("onnxruntime-node/package.json");
}

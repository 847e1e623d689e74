/**
 * What `profile` is to measure. A spec is read without the profiles it names, since they are what
 * is about to be made.
 */
import {
  bucketCount,
  type MeasuredDevice,
  type ModelFile,
} from "stratagem-runtime/internal/bundle/schema";
import { assert } from "stratagem-runtime/internal/core/assert";
import { nameOf } from "stratagem-runtime/internal/devices/names";
import {
  defaultDevice,
  type Provider,
  type WorkerDevice,
} from "stratagem-runtime/internal/exec/models/worker-device";
import { MAX_PAYLOAD_BYTES } from "stratagem-runtime/internal/exec/process/worker-channel";
import type { Bound } from "../binding/bind-model.ts";
import type { FeedKind } from "../model/model-feeds.ts";
import { rowBytesOf, sizedInputs } from "../onnx/batch-inputs.ts";
import type { LayeredModel } from "../onnx/layered-model.ts";
import { OnnxModelError } from "../onnx/onnx-model-error.ts";
import type { HostVariant, Policy } from "../spec/application.ts";
import type { Binding } from "../spec/binding.ts";
import { type KeyPath, readDocument } from "../spec/document/document.ts";
import { InputError } from "../spec/document/input-error.ts";
import { conflict, fail, invalid, refuse, show } from "../spec/document/mistakes.ts";
import { digest } from "../spec/document/source.ts";
import { parseStructure } from "../spec/document/structure.ts";
import { devicesOf } from "../spec/pool-profiles.ts";
import { applicationSchema } from "../spec/schema/application-schema.ts";
import type { Machine } from "./machine.ts";
import { type NamedVariant, namedVariants, usesOf, withKnownAccuracy } from "./named-variants.ts";
import { type PlannedUse, plannedFitMistakes } from "./planned-fit.ts";
import { profiledBatches } from "./profiled-batches.ts";

export interface ProfileOptions {
  /** Path of the application spec. */
  readonly app: string;
  /**
   * Path of the profile, null where none is to be written; where the spec has no accuracy of a
   * variant, that of a profile which is there already is kept.
   */
  readonly out: string | null;
  /** Measures the variants of this task only; null for all. */
  readonly task: string | null;
  /** Ascending, each once. */
  readonly batches: readonly number[];
  /** Measured runs of every variant and batch. */
  readonly repeat: number;
  /** Cores of every batch, unless `cores` says more. */
  readonly threads: number;
  /**
   * Numbers of cores to measure every batch on, each once; the first is the one that methods which
   * never scale count with. Null for `threads` alone.
   */
  readonly cores: readonly number[] | null;
  /** A profile holds for one, so none is chosen for the user. */
  readonly device: Provider;
  /** Which one, and how; left out, the default one. */
  readonly on?: DeviceChoice;
  /** URLs of the workers to measure; null, or left out, for processes of this machine. */
  readonly urls?: readonly string[] | null;
  /** Name of the hardware in the profile; null to name it after the device. */
  readonly hardware: string | null;
  /** Of the inputs. */
  readonly seed: number;
}

/** What of a worker's device a provider alone does not say. */
type DeviceChoice = Omit<WorkerDevice, "provider">;

export interface ProfilePlan {
  readonly application: string;
  /** Task of all variants, null when there are several. */
  readonly task: string | null;
  readonly hardware: string;
  /** What `device` is. */
  readonly measuredOn: MeasuredDevice;
  readonly variants: readonly PlannedVariant[];
  /** That were asked for; each variant has its own. */
  readonly batches: readonly number[];
  readonly repeat: number;
  /**
   * Numbers of cores that every batch is measured on; rows that do not say their cores are of the
   * first.
   */
  readonly cores: readonly [number, ...number[]];
  /** Whether the profile has rows for each number of cores. */
  readonly isByCores: boolean;
  /** Most stages that a model is to be cut into. */
  readonly maxDepth: number;
  readonly device: Provider;
  readonly on?: DeviceChoice;
  /** Of workers on other machines, whose way is in all times; left out for those of this one. */
  readonly urls?: readonly string[];
  /** Providers that the pools of the spec name, each once; none where no pool names one. */
  readonly poolProviders: readonly Provider[];
  readonly seed: number;
  readonly machine: Machine;
  /** Of everything that the measurements depend on. */
  readonly sha256: string;
}

export interface PlannedVariant {
  /**
   * Whether outputs have a row for each row of the batch; what a task sends on to the next may be
   * any number.
   */
  readonly outputsAreRows: boolean;
  /** Name inside the profile: what follows `#` in the spec. */
  readonly name: string;
  readonly accuracy: number | null;
  /** Path that opens the model as it is. */
  readonly path: string;
  readonly model: ModelFile;
  /** Element type of most of its weights; left out where the file does not tell. */
  readonly precision?: string | undefined;
  /** What it is where it is no ONNX file; left out for one. */
  readonly host?: HostVariant | undefined;
  /** Paths of files that run in a row; the path only names them. */
  readonly chain?: readonly string[] | undefined;
  /** Inputs that a module has for each batch; left out, they are random. */
  readonly samples?: ReadonlyMap<number, readonly Uint8Array[]> | undefined;
  /** To measure it at, ascending, at least one. */
  readonly batches: readonly number[];
  /** Null where layers are not measured. */
  readonly layers: LayeredModel | null;
}

export interface PlanSources {
  /**
   * Reads what a model takes as a variant uses it.
   * @param chain of several files, which the path only names. @throws Error if it is no model.
   */
  readonly readModel: (
    path: string,
    binding: Binding | undefined,
    at: KeyPath,
    chain?: readonly string[],
  ) => Promise<Bound>;
  /** The same of what is no ONNX file. */
  readonly readHost?: (host: HostVariant) => Promise<ModelFile>;
  /** Inputs that a module has for a batch, of the seed; null where it has none. */
  readonly sample?: (
    host: HostVariant,
    rows: number,
    seed: number,
  ) => Promise<readonly Uint8Array[] | null>;
  /**
   * Finds the layers of a model; left out where they are not to be measured.
   * @throws OnnxModelError if it cannot be cut.
   */
  readonly openLayers?: (path: string) => Promise<LayeredModel>;
  /** The element type of most weights of an ONNX file; null where it does not tell. */
  readonly precisionOf?: (path: string) => Promise<string | null>;
  /** What an accelerator is; null where nothing tells. */
  readonly describeDevice?: (
    device: WorkerDevice,
  ) => Promise<Pick<MeasuredDevice, "name" | "driver"> | null>;
  /** What has to give a task its inputs, by the method; null where models are not linked. */
  readonly feedsOf?: (policy: Pick<Policy, "method">) => Promise<FeedKind | null>;
  readonly machine: Machine;
}

/** @throws InputError for the first mistake that stands in the way of measuring. */
export async function planProfile(
  options: ProfileOptions,
  sources: PlanSources,
): Promise<ProfilePlan> {
  const { openLayers, machine } = sources;
  const { batches, repeat, device, seed } = options;
  const cores = coresOf(options, machine);
  const document = readDocument(options.app);
  const spec = parseStructure(document, applicationSchema);
  const named = namedVariants(spec, document, options);
  const variants: PlannedVariant[] = [];
  const read: { use: PlannedUse; model: ModelFile }[] = [];
  for (const variant of withKnownAccuracy(named, options.out)) {
    const { name, accuracy, path, host, chain, binding, at, outputsAreRows } = variant;
    const noLayers = (found: string) =>
      fail(document, invalid(at, "a model that can be cut into layers", found));
    if (host !== undefined && openLayers !== undefined) noLayers(`kind: ${host.kind}`);
    if (chain !== undefined && openLayers !== undefined) noLayers(`${chain.length} files`);
    const layers = await openLayers?.(path).catch((error: unknown) => {
      if (!(error instanceof OnnxModelError)) throw error;
      return noLayers(error.message);
    });
    const noModel = (expected: string, found: string) =>
      fail(document, invalid(at, expected, found));
    const bound = await readPlanned({ path, host, chain, binding, at }, sources, noModel);
    refuse(document, bound.mistakes ?? []);
    if (bound.mistakes !== undefined) continue;
    const { model } = bound;
    read.push({ use: { path, binding }, model });
    // A model is cut for one instance at a time, whatever else it takes.
    const own = openLayers === undefined ? profiledBatches(model, batches) : batches;
    const samples =
      host === undefined
        ? null
        : await samplesOf(host, { ...options, batches: own }, sources, noModel);
    if (samples === null) {
      const largest = sizedInputs(model, bucketCount(model.buckets) - 1);
      checkRows(largest, own, (message) => fail(document, conflict(at, message)));
    }
    const precision = host === undefined ? await precisionOf(chain ?? [path], sources) : undefined;
    const hosted = { host, samples: samples ?? undefined };
    variants.push({
      name,
      accuracy,
      path,
      model,
      ...hosted,
      ...(chain === undefined ? {} : { chain }),
      precision: precision ?? undefined,
      outputsAreRows,
      batches: own,
      layers: layers ?? null,
    });
  }
  const feeds = (await sources.feedsOf?.(spec.policy)) ?? null;
  if (feeds !== null) {
    const useOf = usesOf(spec, document, options);
    refuse(document, plannedFitMistakes(spec, feeds, useOf, read));
  }
  const measuredOn = await measuredDevice(options, sources);
  const tasks = new Set(named.map((variant) => variant.task));
  const plan = {
    application: spec.application,
    task: tasks.size === 1 ? (named[0]?.task ?? null) : null,
    hardware: options.hardware ?? nameOf(measuredOn.name),
    measuredOn,
    variants,
    batches,
    repeat,
    cores,
    isByCores: options.cores !== null,
    maxDepth: "maxDepth" in spec.policy ? spec.policy.maxDepth : DEFAULT_DEPTH,
    device,
    ...(options.on && { on: options.on }),
    ...(options.urls && { urls: options.urls }),
    poolProviders: poolProvidersOf(spec.cluster.pools ?? []),
    seed,
    machine,
  };
  return withDigest(plan);
}

/** Of all files; null where they differ. */
async function precisionOf(
  paths: readonly string[],
  { precisionOf: ofFile }: PlanSources,
): Promise<string | null> {
  const all = new Set<string | null>();
  for (const path of paths) all.add((await ofFile?.(path)) ?? null);
  const [first = null] = all;
  return all.size === 1 ? first : null;
}

type Refuse = (expected: string, found: string) => never;

/** @throws InputError for what is no model. */
async function readPlanned(
  {
    path,
    host,
    chain,
    binding,
    at,
  }: Pick<NamedVariant, "path" | "host" | "chain" | "binding" | "at">,
  { readModel, readHost }: PlanSources,
  refuse: Refuse,
): Promise<Bound> {
  try {
    if (host === undefined) return await readModel(path, binding, at.slice(0, -1), chain);
    assert(readHost !== undefined, "who measures modules can read them");
    return { model: await readHost(host) };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    if (host !== undefined) {
      const expected = host.kind === "module" ? "a module that opens" : "a model of a server";
      return refuse(expected, `${show(path)}: ${reason}`);
    }
    return refuse("an ONNX model", `${show(path)}, of which onnxruntime says: ${reason}`);
  }
}

/** By batch size; null where it has none. @throws InputError for samples that it does not take. */
async function samplesOf(
  host: HostVariant,
  { batches, seed }: ProfileOptions,
  { sample }: PlanSources,
  refuse: Refuse,
): Promise<ReadonlyMap<number, readonly Uint8Array[]> | null> {
  const samples = new Map<number, readonly Uint8Array[]>();
  for (const rows of batches) {
    try {
      const inputs = (await sample?.(host, rows, seed)) ?? null;
      if (inputs === null) return null;
      samples.set(rows, inputs);
    } catch (error) {
      const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
      return refuse(`samples of ${rows} rows`, String(reason));
    }
  }
  return samples;
}

function poolProvidersOf(pools: Parameters<typeof devicesOf>[0]): Provider[] {
  const devices = devicesOf(pools);
  return [...new Set(devices.flatMap(({ provider }) => provider ?? []))];
}

/** Where nothing tells the name of an accelerator, what the user calls it. */
async function measuredDevice(
  { device: provider, on, hardware, urls }: ProfileOptions,
  { machine, describeDevice }: PlanSources,
): Promise<MeasuredDevice> {
  const [url] = urls ?? [];
  // The protocol does not say what a server runs on.
  if (url !== undefined) return { provider, name: hardware ?? `worker ${url}`, driver: null };
  if (provider === "cpu") return { provider, name: machine.processor, driver: null };
  const found = (await describeDevice?.({ ...defaultDevice(provider), ...on })) ?? null;
  return {
    provider,
    name: nameOf(found?.name ?? "") || (hardware ?? `${provider} device`),
    driver: nameOf(found?.driver ?? "") || null,
  };
}

/** As that of Accordion's policy. */
const DEFAULT_DEPTH = 8;

/** @throws InputError for cores that a batch here would not have. */
function coresOf(
  { cores, threads, device, urls }: ProfileOptions,
  machine: Machine,
): readonly [number, ...number[]] {
  const [first = threads, ...others] = cores ?? [];
  if (cores === null) return [first];
  const given = `--cores ${cores.join(",")}`;
  const isHere = (urls ?? null) === null;
  if (device !== "cpu" && cores.some((count) => count !== 1)) {
    const message =
      `${given}: expected --device cpu beside it, got ${device}, ` +
      "whose batches do not run on cores; allowed: --cores 1, what one worker takes";
    throw new InputError("INPUT_CONFLICT", message);
  }
  const most = Math.max(...cores);
  if (isHere && most > machine.cores) {
    const on = machine.cores === 1 ? "the 1 core" : `the ${machine.cores} cores`;
    const message =
      `${given}: expected at most ${on} of this machine, got ${most}: ` +
      "more threads than cores take turns, and would say nothing of a machine that has them. " +
      "Measure there, or leave them out: instances then have at most as many cores as were " +
      "measured";
    throw new InputError("INPUT_CONFLICT", message);
  }
  return [first, ...others];
}

function checkRows(
  { inputs }: Pick<ModelFile, "inputs">,
  batches: readonly number[],
  refuse: (message: string) => never,
): void {
  for (const { name, dtype, shape } of inputs) {
    const [rows, ...rest] = shape;
    const shown = `input "${name}" has shape [${shape.join(", ")}]`;
    if (rows === undefined || rest.includes(-1)) {
      refuse(`expected a model that leaves only axis 0, the rows, open; ${shown}`);
    }
    if (rows !== -1 && batches.some((batch) => batch !== rows)) {
      refuse(`expected inputs that all take a batch of ${batches.join(", ")}; ${shown}`);
    }
    const rowBytes = rowBytesOf({ name, dtype, shape });
    if (rowBytes === null) {
      refuse(`expected inputs of a fixed size per element; input "${name}" has type ${dtype}`);
    }
    const most = Math.max(...batches);
    if (most * rowBytes > MAX_PAYLOAD_BYTES) {
      const found = `${most} rows of input "${name}" are ${most * rowBytes} bytes`;
      refuse(`expected batches of at most ${MAX_PAYLOAD_BYTES} bytes; ${found}`);
    }
  }
}

/** The plan with the digest of all that its measurements depend on. */
export function withDigest(plan: Omit<ProfilePlan, "sha256">): ProfilePlan {
  const variants = plan.variants.map(({ name, model, batches }) => [
    name,
    model.sha256,
    batches,
    ...(model.buckets === undefined ? [] : [model.buckets]),
    ...(model.parts ?? []).map(({ sha256 }) => sha256),
    ...(model.module === undefined ? [] : [model.module.options]),
  ]);
  const { batches, repeat, cores, isByCores, measuredOn, on, urls, seed, machine } = plan;
  const where = urls === undefined ? [] : [urls];
  const measured = [measuredOn, ...(on === undefined ? [] : [on]), ...where];
  const parts = [variants, batches, repeat, cores, isByCores, ...measured, seed, machine];
  return { ...plan, sha256: digest(Buffer.from(JSON.stringify(parts))) };
}

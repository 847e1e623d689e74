/**
 * Plans a `profile` run. The spec is read without its profiles, since those are about to be made.
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
import { modelDigest } from "../model/model-files.ts";
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
import type { ProfiledVariant } from "../spec/profile.ts";
import { type ApplicationSpec, applicationSchema } from "../spec/schema/application-schema.ts";
import type { Machine } from "./machine.ts";
import { knownVariants, type NamedVariant, namedVariants, usesOf } from "./named-variants.ts";
import { type PlannedUse, plannedFitMistakes } from "./planned-fit.ts";
import { profiledBatches } from "./profiled-batches.ts";
import { type RealRows, type RowsContent, readRows, realRows } from "./real-rows.ts";

export interface ProfileOptions {
  /** Path of the application spec. */
  readonly app: string;
  /**
   * Path of the profile, or null to write none. Accuracies missing in the spec are kept from an
   * existing profile of the same model.
   */
  readonly out: string | null;
  /** Measures the variants of this task only; null for all. */
  readonly task: string | null;
  /** Ascending, each once. */
  readonly batches: readonly number[];
  /** Measured runs of every variant and batch. */
  readonly repeat: number;
  /** Cores of every batch, unless `cores` is given. */
  readonly threads: number;
  /**
   * Numbers of cores to measure every batch on, each once; methods that never scale use the first.
   * Null for `threads` alone.
   */
  readonly cores: readonly number[] | null;
  /** Has no default, since a profile is valid for one device only. */
  readonly device: Provider;
  /** Device number and settings; left out for the default. */
  readonly on?: DeviceChoice;
  /** URLs of the workers to measure; null or left out for processes of this machine. */
  readonly urls?: readonly string[] | null;
  /**
   * File or folder of rows for the first task, or the selected one; null or left out for samples of
   * modules and random numbers.
   */
  readonly inputs?: string | null;
  /** File with the class of each row, to measure accuracies; null or left out for none. */
  readonly labels?: string | null;
  /** Name of the hardware in the profile; null to name it after the device. */
  readonly hardware: string | null;
  readonly seed: number;
}

/** Settings of a worker's device beyond its provider. */
type DeviceChoice = Omit<WorkerDevice, "provider">;

export interface ProfilePlan {
  readonly application: string;
  /** Task of all variants; null if there are several. */
  readonly task: string | null;
  readonly hardware: string;
  /** Description of `device`. */
  readonly measuredOn: MeasuredDevice;
  readonly variants: readonly PlannedVariant[];
  /** Requested batches; each variant has its own list. */
  readonly batches: readonly number[];
  readonly repeat: number;
  /**
   * Numbers of cores that every batch is measured on; profile rows without cores are for the first.
   */
  readonly cores: readonly [number, ...number[]];
  /** True if the profile has rows for each number of cores. */
  readonly isByCores: boolean;
  /** Most stages to cut a model into. */
  readonly maxDepth: number;
  readonly device: Provider;
  readonly on?: DeviceChoice;
  /** Workers on other machines, whose times include the network; left out for this machine. */
  readonly urls?: readonly string[];
  /** Providers that the pools of the spec name, each once; may be empty. */
  readonly poolProviders: readonly Provider[];
  readonly seed: number;
  /** Digest of the rows that models are measured with; left out without. */
  readonly rowsSha256?: string;
  readonly machine: Machine;
  /** Digest of everything that the measurements depend on. */
  readonly sha256: string;
}

export interface PlannedVariant {
  /**
   * True if outputs have one row per row of the batch; data for a following task may have any
   * number.
   */
  readonly outputsAreRows: boolean;
  /** Name inside the profile: the part after `#` in the spec. */
  readonly name: string;
  readonly accuracy: number | null;
  /** Path of the unmodified model. */
  readonly path: string;
  readonly model: ModelFile;
  /** Element type of most weights; left out if unknown. */
  readonly precision?: string | undefined;
  /** Module or server that runs it; left out for an ONNX file. */
  readonly host?: HostVariant | undefined;
  /** Paths of files that run in sequence; `path` is then only a label. */
  readonly chain?: readonly string[] | undefined;
  /** Inputs from a module for each batch; left out for random inputs. */
  readonly samples?: ReadonlyMap<number, readonly Uint8Array[]> | undefined;
  /** Rows in the largest size of the model; left out for samples or random inputs. */
  readonly rows?: RealRows;
  /** Batches to measure, ascending, at least one. */
  readonly batches: readonly number[];
  /** Null if layers are not measured. */
  readonly layers: LayeredModel | null;
}

export interface PlanSources {
  /**
   * Reads the inputs and outputs of a model as a variant uses it.
   * @param chain of several files; `path` is then only a label. @throws Error if the file is not a
   * model.
   */
  readonly readModel: (
    path: string,
    binding: Binding | undefined,
    at: KeyPath,
    chain?: readonly string[],
  ) => Promise<Bound>;
  /** Does the same for a module or server. */
  readonly readHost?: (host: HostVariant) => Promise<ModelFile>;
  /** Returns inputs from a module for a batch, by seed; null if it provides none. */
  readonly sample?: (
    host: HostVariant,
    rows: number,
    seed: number,
  ) => Promise<readonly Uint8Array[] | null>;
  /**
   * Finds the layers of a model; left out if they are not measured.
   * @throws OnnxModelError if it cannot be cut.
   */
  readonly openLayers?: (path: string) => Promise<LayeredModel>;
  /** Returns the element type of most weights of an ONNX file; null if unknown. */
  readonly precisionOf?: (path: string) => Promise<string | null>;
  /** Describes an accelerator; null if unknown. */
  readonly describeDevice?: (
    device: WorkerDevice,
  ) => Promise<Pick<MeasuredDevice, "name" | "driver"> | null>;
  /** Returns how tasks get their inputs, by the method; null if models are not linked. */
  readonly feedsOf?: (policy: Pick<Policy, "method">) => Promise<FeedKind | null>;
  readonly machine: Machine;
}

/** @throws InputError for the first mistake that prevents measuring. */
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
  const fed = await fedTasks(options, spec);
  // Measured accuracies replace known ones.
  const known = options.labels ? new Map() : knownVariants(named, options.out);
  for (const variant of named) {
    const { name, path, host, chain, binding, at, outputsAreRows } = variant;
    const noLayers = (found: string) =>
      fail(document, invalid(at, "a model that can be cut into layers", found));
    if (host !== undefined && openLayers !== undefined) noLayers(`kind: ${host.kind}`);
    if (chain !== undefined && openLayers !== undefined) noLayers(`${chain.length} files`);
    const layers = await openLayers?.(path).catch((error: unknown) => {
      if (!(error instanceof OnnxModelError)) throw error;
      return noLayers(error.message);
    });
    const noModel = (wanted: string, got: string) => fail(document, invalid(at, wanted, got));
    const bound = await readPlanned({ path, host, chain, binding, at }, sources, noModel);
    refuse(document, bound.mistakes ?? []);
    if (bound.mistakes !== undefined) continue;
    const { model } = bound;
    read.push({ use: { path, binding }, model });
    // Stages run one instance at a time, whatever batches the model takes.
    const own = openLayers === undefined ? profiledBatches(model, batches) : batches;
    const samples =
      host === undefined
        ? null
        : await samplesOf(host, { ...options, batches: own }, sources, noModel);
    const sized = sizedInputs(model, bucketCount(model.buckets) - 1);
    if (samples === null) {
      checkRows(sized, own, (message) => fail(document, conflict(at, message)));
    }
    const precision = host === undefined ? await precisionOf(chain ?? [path], sources) : undefined;
    variants.push({
      name,
      accuracy: variant.accuracy ?? knownAccuracy(known.get(name), model),
      path,
      model,
      ...{ host, samples: samples ?? undefined },
      ...(chain === undefined ? {} : { chain }),
      precision: precision ?? undefined,
      ...fed?.rowsOf(variant.task, sized),
      outputsAreRows,
      batches: own,
      layers: layers ?? null,
    });
  }
  const feeds = (await sources.feedsOf?.(spec.policy)) ?? null;
  const useOf = usesOf(spec, document, options);
  if (feeds !== null) refuse(document, plannedFitMistakes(spec, feeds, useOf, read));
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
    ...(fed && { rowsSha256: fed.content.sha256 }),
    machine,
  };
  return withDigest(plan);
}

/**
 * Reads `--inputs`, with rows for the selected task, else for those whose inputs come from clients.
 * Null without rows.
 */
async function fedTasks(
  { inputs = null, task: selected }: ProfileOptions,
  { tasks }: ApplicationSpec,
): Promise<FedTasks | null> {
  if (inputs === null) return null;
  const before = tasks.filter(({ passThrough }) => !passThrough);
  const inner = before.flatMap(({ to }) => to.map(({ task }) => task));
  const own = tasks.filter(({ name }) => selected !== null || !inner.includes(name));
  const content = await readRows(inputs);
  const names = new Set(own.map(({ name }) => name));
  const orders = new Map<string, readonly string[]>();
  return {
    content,
    rowsOf: (task, model) => {
      if (!names.has(task)) return {};
      const order = orders.get(task) ?? model.inputs.map(({ name }) => name);
      orders.set(task, order);
      return { rows: realRows(model, content, order) };
    },
  };
}

/** Rows of `--inputs` for the tasks that have some. */
interface FedTasks {
  readonly content: RowsContent;
  /** Returns the rows of a variant, which have the inputs of its task's first variant in order. */
  readonly rowsOf: (task: string, model: Pick<ModelFile, "inputs">) => Pick<PlannedVariant, "rows">;
}

/** Describes what the variants are measured with. */
export function inputsText({ variants }: Pick<ProfilePlan, "variants">): string {
  const byKind = new Map<string, string[]>();
  for (const { name, rows, samples } of variants) {
    const own = rows && `${rows.count} ${rows.count === 1 ? "row" : "rows"} of ${rows.file}`;
    const kind = own ?? (samples ? "samples of modules" : "random numbers");
    byKind.set(kind, [...(byKind.get(kind) ?? []), name]);
  }
  if (byKind.size === 1) return [...byKind.keys()].join();
  return [...byKind].map(([kind, names]) => `${kind} for ${names.join(", ")}`).join("; ");
}

/** Returns the accuracy of the existing profile, unless it is that of another model. */
function knownAccuracy(known: ProfiledVariant | undefined, model: ModelFile): number | null {
  const of = known?.profile.modelSha256;
  return of === undefined || of === modelDigest(model) ? (known?.accuracy ?? null) : null;
}

/** Returns the common element type of all files; null if they differ. */
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

/** @throws InputError if the model cannot be read. */
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

/**
 * Returns samples by batch size; null without samples. @throws InputError for samples that the
 * variant does not accept.
 */
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

/** Falls back to the user's name for the hardware if the accelerator's name is unknown. */
async function measuredDevice(
  { device: provider, on, hardware, urls }: ProfileOptions,
  { machine, describeDevice }: PlanSources,
): Promise<MeasuredDevice> {
  const [url] = urls ?? [];
  // The protocol does not report the hardware of a server.
  if (url !== undefined) return { provider, name: hardware ?? `worker ${url}`, driver: null };
  if (provider === "cpu") return { provider, name: machine.processor, driver: null };
  const found = (await describeDevice?.({ ...defaultDevice(provider), ...on })) ?? null;
  return {
    provider,
    name: nameOf(found?.name ?? "") || (hardware ?? `${provider} device`),
    driver: nameOf(found?.driver ?? "") || null,
  };
}

/** Default of Accordion's policy. */
const DEFAULT_DEPTH = 8;

/** @throws InputError for more cores than a batch can have here. */
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
      "whose batches do not run on CPU cores; allowed: --cores 1, the cores of a worker";
    throw new InputError("INPUT_CONFLICT", message);
  }
  const most = Math.max(...cores);
  if (isHere && most > machine.cores) {
    const on = machine.cores === 1 ? "the 1 core" : `the ${machine.cores} cores`;
    const message =
      `${given}: expected at most ${on} of this machine, got ${most}: ` +
      "results of more threads than cores do not apply to a machine that has the cores. " +
      "Measure on that machine, or leave them out: instances then have at most as many cores as " +
      "were measured";
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

/** Adds the digest of everything that the measurements depend on. */
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
  const where = [urls, plan.rowsSha256].filter((one) => one !== undefined);
  const measured = [measuredOn, ...(on === undefined ? [] : [on]), ...where];
  const parts = [variants, batches, repeat, cores, isByCores, ...measured, seed, machine];
  return { ...plan, sha256: digest(Buffer.from(JSON.stringify(parts))) };
}

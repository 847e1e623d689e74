/** Reads an application spec and every file it names. */
import { MAX_WORKERS } from "stratagem-runtime/internal/bundle/limits";
import type { Application, Arrivals, Cluster, Policy, Task, Variant } from "./application.ts";
import { resolveBinding } from "./binding.ts";
import { type KeyPath, readDocument } from "./document/document.ts";
import { conflict, fail, invalid, type Mistake, missing, refuse } from "./document/mistakes.ts";
import { parseStructure } from "./document/structure.ts";
import { hostKey, hostVariantOf } from "./host-tasks.ts";
import { loadMistakes, resolveLoads } from "./loads.ts";
import { measurementMistakes, wayMistakes } from "./measurements.ts";
import { chainKey, chainOf, oneModelOf } from "./model-files.ts";
import { type InputFile, NamedFiles } from "./named-files.ts";
import { duplicateNames, pipelineMistakes } from "./pipeline.ts";
import { policyMistakes, resolvePolicy } from "./policy.ts";
import {
  devicesOf,
  poolDeviceMistakes,
  profileFor,
  profileWords,
  workersOf,
} from "./pool-profiles.ts";
import type { ProfiledVariant } from "./profile.ts";
import {
  type ApplicationSpec,
  applicationSchema,
  type TaskSpec,
} from "./schema/application-schema.ts";
import { requiredMistakes, requiredPart } from "./schema/requirement.ts";
import { withServing } from "./serving.ts";
import { resolveSlo, sloMistakes } from "./slo.ts";
import { measuredStarts } from "./start-times.ts";
import { MAX_TRACE_BYTES, readTrace } from "./trace.ts";

/** Limit of a protobuf message, and so of ONNX files. */
const MAX_MODEL_BYTES = 2 ** 31 - 1;

export interface LoadedApplication<P extends Policy = Policy> {
  readonly application: Application<P>;
  /** Path of the spec, as given. */
  readonly path: string;
  /** Every file that the application was read from, sorted by path, each once. */
  readonly inputs: readonly InputFile[];
  /**
   * Refuses the application for a mistake that a later stage finds.
   * @throws InputError with the place in the spec.
   */
  readonly fail: (mistake: Mistake) => never;
  /** @throws InputError for the first mistake in the order of the spec, if any. */
  readonly refuse: (mistakes: Iterable<Mistake>) => void;
}

/** Files that replace those in a spec. */
interface ApplicationFiles {
  /** Profile that replaces all others, with the same variant names; null for none. */
  readonly profile?: string | null;
}

/**
 * Reads an application spec and every profile it names, and checks that its traces and models
 * exist.
 * @param path of a YAML or JSON file; messages name it as given.
 * @returns deep-frozen values in ms, queries/s and 0..1.
 * @throws InputError for the first mistake.
 */
export function loadApplication(
  path: string,
  { profile = null }: ApplicationFiles = {},
): LoadedApplication {
  const document = readDocument(path);
  const spec = parseStructure(document, applicationSchema);
  refuse(document, specMistakes(spec));
  refuse(document, policyMistakes(spec));
  const files = new NamedFiles(document, path, profile);
  const cluster = resolveCluster(spec.cluster);
  const tasks = spec.tasks.map((task, index) => {
    return resolveTask(task, ["tasks", index], { files, pools: cluster.pools });
  });
  const slo = resolveSlo(spec);
  const application: Application = {
    name: spec.application,
    slo,
    arrivals: resolveArrivals(spec, files),
    ...dayPart(spec, files),
    loads: resolveLoads(spec.workload.loads),
    cluster: withServing(cluster, tasks, spec.cluster.communicationLatency === "auto"),
    tasks,
    policy: resolvePolicy(spec, measuredStarts({ cluster, tasks }), slo.latencyMs),
    ...requiredPart(spec.require),
  };
  refuse(document, poolDeviceMistakes(application));
  refuse(document, measurementMistakes(application));
  refuse(document, wayMistakes(application));
  return deepFreeze({
    application,
    path,
    inputs: files.inputs(),
    fail: (mistake: Mistake): never => fail(document, mistake),
    refuse: (mistakes: Iterable<Mistake>): void => refuse(document, mistakes),
  });
}

function* specMistakes(spec: ApplicationSpec): Generator<Mistake> {
  yield* sloMistakes(spec);
  yield* loadMistakes(spec.workload.loads);
  const { workers, pools } = spec.cluster;
  if (workers === undefined && pools === undefined) {
    yield missing(["cluster", "workers"], "workers or pools");
  }
  if (workers !== undefined && pools !== undefined) {
    yield conflict(["cluster", "pools"], "expected workers or pools, got both");
  }
  if (pools?.length === 0)
    yield invalid(["cluster", "pools"], "at least one pool", "an empty list");
  for (const [index, pool] of (pools ?? []).entries()) {
    if (pool.workers !== undefined || pool.device !== undefined) continue;
    yield missing(["cluster", "pools", index, "workers"], WORKERS_FORM);
  }
  yield* duplicateNames(pools ?? [], ["cluster", "pools"], "pool");
  yield* pipelineMistakes(spec.tasks);
  yield* requiredMistakes(spec.require);
}

const WORKERS_FORM = `a whole number from 1 to ${MAX_WORKERS}`;

/** Context for resolving variants. */
interface Surroundings {
  readonly files: NamedFiles;
  readonly pools: Cluster["pools"];
}

function resolveTask(task: TaskSpec, path: KeyPath, around: Surroundings): Task {
  return {
    name: task.name,
    passThrough: task.passThrough,
    variants: task.variants.map((variant, index) =>
      resolveVariant(variant, [...path, "variants", index], around),
    ),
    to: task.to.map(({ inputs, count, gather, ...edge }) => ({
      ...edge,
      inputs: inputs ?? null,
      count: count ?? null,
      ...(gather === undefined ? {} : { gather }),
      ...(multiplies(task, { task: edge.task, count, gather }) ? { multiplies: true } : {}),
    })),
    branch: task.branch,
    ...(task.bucketShares === undefined ? {} : { bucketShares: sharesOf(task.bucketShares) }),
  };
}

/** Normalizes the sum to 1, since shares such as thirds are rounded. */
function sharesOf(stated: readonly number[]): number[] {
  const sum = stated.reduce((total, share) => total + share, 0);
  return stated.map((share) => share / sum);
}

/** Returns whether a query may be multiplied along an edge. */
function multiplies(
  { variants }: TaskSpec,
  { task, count, gather }: Pick<TaskSpec["to"][number], "task" | "count" | "gather">,
): boolean {
  if (gather !== undefined) return false;
  return variants.some(({ fanout }) => {
    const written = typeof fanout === "object" ? fanout[task] : fanout;
    return written !== undefined && (written > 1 || (written > 0 && count !== undefined));
  });
}

function resolveVariant(
  variant: TaskSpec["variants"][number],
  path: KeyPath,
  { files, pools }: Surroundings,
): Variant {
  const [measured, ...others] = profiledVariants(variant.profile, [...path, "profile"], files);
  const accuracy = variant.accuracy ?? measured.accuracy;
  if (accuracy === null) {
    const expected =
      `a ratio such as 0.58 or 58%, since ${measured.profile.file} has none; ` +
      "profile --inputs ROWS --labels CLASSES measures it";
    return files.fail(missing([...path, "accuracy"], expected));
  }
  const binding = resolveBinding(variant, path, (file, at) => files.lines(file, at));
  const pathOf = (name: string, index?: number) => {
    const place = [...path, "model", ...(index === undefined ? [] : [index])];
    return files.opaque(name, place, MAX_MODEL_BYTES);
  };
  const host = hostVariantOf(variant, files.folder, pathOf);
  const one = host === null ? oneModelOf(variant) : undefined;
  const chain = chainOf(variant)?.map((name, index) => pathOf(name, index));
  const named = one === undefined ? null : pathOf(one);
  const resolved = {
    name: variant.name,
    accuracy,
    profile: measured.profile,
    profiles: [measured, ...others].map(({ profile }) => profile),
    model: chain !== undefined ? chainKey(chain) : host === null ? named : hostKey(host),
    ...(chain === undefined ? {} : { chain }),
    ...(host === null ? {} : { host }),
    ...(binding === null ? {} : { binding }),
    ...statePart(variant.state),
    fanout: variant.fanout ?? null,
  };
  const [first] = pools;
  const profile = first === undefined ? null : profileFor(resolved, first);
  return profile === null ? resolved : { ...resolved, profile };
}

function statePart(state: TaskSpec["variants"][number]["state"]): Pick<Variant, "state"> {
  const pairs = Object.entries(state ?? {}).map(([output, input]) => ({ input, output }));
  return pairs.length === 0 ? {} : { state: pairs };
}

/** Reads the profiles of a variant, which must differ in hardware or provider. */
function profiledVariants(
  references: string | readonly string[],
  path: KeyPath,
  files: NamedFiles,
): [ProfiledVariant, ...ProfiledVariant[]] {
  if (typeof references === "string") return [files.profiledVariant(references, path)];
  const [first, ...others] = files
    .distinct(references)
    .map((reference, index) => files.profiledVariant(reference, [...path, index]));
  if (first === undefined) {
    return files.fail(invalid(path, "at least one profile", "an empty list"));
  }
  const seen = new Set([profileWords(first.profile)]);
  for (const [index, { profile }] of others.entries()) {
    const words = profileWords(profile);
    if (seen.has(words)) {
      const message = `two profiles are of the hardware ${words}; expected one for each`;
      files.fail(conflict([...path, index + 1], message));
    }
    seen.add(words);
  }
  return [first, ...others];
}

function resolveArrivals(spec: ApplicationSpec, files: NamedFiles): Arrivals {
  const { arrivals } = spec.workload;
  if (arrivals.process !== "trace") return arrivals;
  const file = files.opaque(arrivals.file, ["workload", "arrivals", "file"], MAX_TRACE_BYTES);
  return { process: "trace", file, trace: readTrace(file) };
}

function dayPart(spec: ApplicationSpec, files: NamedFiles): Pick<Application, "day"> {
  const { day } = spec.workload;
  if (day === undefined) return {};
  const file = files.opaque(day, ["workload", "day"], MAX_TRACE_BYTES);
  return { day: { file, trace: readTrace(file) } };
}

function resolveCluster(cluster: ApplicationSpec["cluster"]): Cluster {
  const pools: NonNullable<typeof cluster.pools> = cluster.pools ?? [
    { name: "default", workers: cluster.workers ?? 1 },
  ];
  const devices = devicesOf(pools);
  return {
    pools: pools.map((pool, index) => ({
      name: pool.name,
      hardware: pool.hardware ?? null,
      workers: workersOf(pool),
      ...(Array.isArray(pool.workers) ? { urls: pool.workers } : {}),
      cores: pool.cores ?? null,
      pricePerHour: pool.pricePerHour ?? null,
      ...devices[index],
    })),
    communicationLatencyMs:
      cluster.communicationLatency === "auto" ? 0 : cluster.communicationLatency,
  };
}

/** Freezes plain data in place; its depth is that of the domain types. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  // The elements of a typed array cannot be frozen.
  if (ArrayBuffer.isView(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

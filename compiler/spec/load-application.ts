/** Reads an application spec and every file it names. */
import type { Application, Arrivals, Cluster, Policy, Task, Variant } from "./application.ts";
import { type ApplicationSpec, applicationSchema, type TaskSpec } from "./application-schema.ts";
import { resolveBinding } from "./binding.ts";
import { type KeyPath, readDocument } from "./document.ts";
import { hostKey, hostVariantOf } from "./host-tasks.ts";
import { loadMistakes, resolveLoads } from "./loads.ts";
import { measurementMistakes } from "./measurements.ts";
import { conflict, fail, invalid, type Mistake, missing, refuse, show } from "./mistakes.ts";
import { chainKey, chainOf, oneModelOf } from "./model-files.ts";
import { type InputFile, NamedFiles } from "./named-files.ts";
import { duplicateNames, pipelineMistakes } from "./pipeline.ts";
import { policyMistakes, resolvePolicy } from "./policy.ts";
import type { ProfiledVariant } from "./profile.ts";
import { resolveSlo, sloMistakes } from "./slo.ts";
import { parseStructure } from "./structure.ts";
import { MAX_TRACE_BYTES, readTrace } from "./trace.ts";

/** What a protobuf message holds at most, so no ONNX file is larger. */
const MAX_MODEL_BYTES = 2 ** 31 - 1;

export interface LoadedApplication<P extends Policy = Policy> {
  readonly application: Application<P>;
  /** Every file the application was made of, sorted by path, each once. */
  readonly inputs: readonly InputFile[];
  /**
   * Refuses the application for what only a later stage can know.
   * @throws InputError that says where in the spec.
   */
  readonly fail: (mistake: Mistake) => never;
  /** @throws InputError for the first of the mistakes in the order of the spec, if there is one. */
  readonly refuse: (mistakes: Iterable<Mistake>) => void;
}

/**
 * Reads an application spec and every profile it names, and checks that the traces and models it
 * names exist.
 * @param path of a YAML or JSON file; messages name it as given.
 * @returns deep-frozen values in ms, queries/s and 0..1.
 * @throws InputError for the first mistake.
 */
export function loadApplication(path: string): LoadedApplication {
  const document = readDocument(path);
  const spec = parseStructure(document, applicationSchema);
  refuse(document, specMistakes(spec));
  refuse(document, policyMistakes(spec));
  const files = new NamedFiles(document, path);
  const tasks = spec.tasks.map((task, index) => resolveTask(task, ["tasks", index], files));
  const application: Application = {
    name: spec.application,
    slo: resolveSlo(spec),
    arrivals: resolveArrivals(spec, files),
    loads: resolveLoads(spec.workload.loads),
    cluster: resolveCluster(spec.cluster),
    tasks,
    policy: resolvePolicy(spec),
  };
  refuse(document, measurementMistakes(application));
  return deepFreeze({
    application,
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
  yield* duplicateNames(pools ?? [], ["cluster", "pools"], "pool");
  yield* pipelineMistakes(spec.tasks);
}

function resolveTask(task: TaskSpec, path: KeyPath, files: NamedFiles): Task {
  return {
    name: task.name,
    passThrough: task.passThrough,
    variants: task.variants.map((variant, index) =>
      resolveVariant(variant, [...path, "variants", index], files),
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

/** Thirds are written with as many digits as one likes. */
function sharesOf(stated: readonly number[]): number[] {
  const sum = stated.reduce((total, share) => total + share, 0);
  return stated.map((share) => share / sum);
}

/** Whether a query may send more than itself along an edge. */
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
  files: NamedFiles,
): Variant {
  const [measured, ...others] = profiledVariants(variant.profile, [...path, "profile"], files);
  const accuracy = variant.accuracy ?? measured.accuracy;
  if (accuracy === null) {
    const expected = `a ratio such as 0.58 or 58%, since ${measured.profile.file} has none`;
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
  return {
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
}

function statePart(state: TaskSpec["variants"][number]["state"]): Pick<Variant, "state"> {
  const pairs = Object.entries(state ?? {}).map(([output, input]) => ({ input, output }));
  return pairs.length === 0 ? {} : { state: pairs };
}

/** What each profile says of the variant; the hardware of each is its own. */
function profiledVariants(
  references: string | readonly string[],
  path: KeyPath,
  files: NamedFiles,
): [ProfiledVariant, ...ProfiledVariant[]] {
  if (typeof references === "string") return [files.profiledVariant(references, path)];
  const [first, ...others] = references.map((reference, index) =>
    files.profiledVariant(reference, [...path, index]),
  );
  if (first === undefined) {
    return files.fail(invalid(path, "at least one profile", "an empty list"));
  }
  const seen = new Set([first.profile.hardware]);
  for (const [index, { profile }] of others.entries()) {
    if (seen.has(profile.hardware)) {
      const hardware = show(profile.hardware);
      const message = `two profiles are of the hardware ${hardware}; expected one for each`;
      files.fail(conflict([...path, index + 1], message));
    }
    seen.add(profile.hardware);
  }
  return [first, ...others];
}

function resolveArrivals(spec: ApplicationSpec, files: NamedFiles): Arrivals {
  const { arrivals } = spec.workload;
  if (arrivals.process !== "trace") return arrivals;
  const file = files.opaque(arrivals.file, ["workload", "arrivals", "file"], MAX_TRACE_BYTES);
  return { process: "trace", file, trace: readTrace(file) };
}

function resolveCluster(cluster: ApplicationSpec["cluster"]): Cluster {
  const pools: NonNullable<typeof cluster.pools> = cluster.pools ?? [
    { name: "default", workers: cluster.workers ?? 1 },
  ];
  return {
    pools: pools.map((pool) => ({
      name: pool.name,
      hardware: pool.hardware ?? null,
      workers: pool.workers,
      cores: pool.cores ?? null,
      pricePerHour: pool.pricePerHour ?? null,
    })),
    communicationLatencyMs: cluster.communicationLatency,
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

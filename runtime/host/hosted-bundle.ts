/** A bundle of a server: its models opened and checked, and an application made of it. */
import { dirname } from "node:path";
import { RuntimeError } from "../base/errors.ts";
import type { Notice } from "../base/notice.ts";
import type { Bundle, Pool } from "../bundle/schema.ts";
import type { Claims, Trust } from "../bundles/trust/trust.ts";
import type { TrustedBundle } from "../bundles/trusted-bundle.ts";
import { OpenedModels } from "../exec/process/opened-models.ts";
import type { Recorder } from "../features/server-feature.ts";
import type { GenerateLevel } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import { elsewhereOf } from "../remote/elsewhere.ts";
import type { Application } from "../server/applications/application.ts";
import type { ServerLimits } from "../server/applications/limits.ts";
import { servedModels } from "./served-models.ts";
import { Workers, type WorkersOptions } from "./server-workers.ts";
import { SharedMeans } from "./shared-means.ts";

export interface HostingOptions extends WorkersOptions {
  /**
   * Folder of the model files, or one for each bundle, in their order; by default each bundle's
   * own.
   */
  readonly models?: string | readonly string[] | undefined;
  readonly limits?: Partial<ServerLimits>;
  readonly nowMs: () => number;
  /** Difference to milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly generateLevel?: GenerateLevel | undefined;
  /** Checks signatures of bundles; null to accept unsigned ones. */
  readonly trust: Trust | null;
  /** Each makes the recorder of a bundle's core: of its events and its commands. */
  readonly recorders: readonly ((bundle: Bundle) => Recorder)[];
  readonly onNotice: Notice;
  /** Whether this is the server's only bundle, so that notices need not name it. */
  readonly isOnly: boolean;
}

export interface HostedBundle {
  /** Path of its file. */
  readonly policy: string;
  readonly bundle: Bundle;
  /** SHA-256 of the bundle's file. */
  readonly sha256: string;
  /** Folder where its models were opened. */
  readonly folder: string;
  /** Claims of its signature; null where signatures are not required. */
  readonly claims: Claims | null;
  readonly workers: Workers;
  readonly application: Application;
  /** Files that its workers have open. */
  readonly files: OpenedModels;
  /** Rejects when a worker has failed at its start. */
  readonly failed: Promise<never>;
}

/** @throws RuntimeError RUNTIME_USAGE unless there is one, or one for each bundle. */
export function expectFolders(models: HostingOptions["models"], policyCount: number): void {
  if (models === undefined || typeof models === "string") return;
  if (models.length <= 1 || models.length === policyCount) return;
  const expected = "expected one folder of models for all, or one for each bundle";
  const found = `got ${models.length} for ${policyCount} bundles`;
  throw new RuntimeError("RUNTIME_USAGE", `--models: ${expected}, ${found}`);
}

/**
 * @param place of the bundle among those of the server.
 * @param shared means of the machine, and what workers that start with its own want of them.
 * @param files to open its models with; the bundle closes them.
 * @throws RuntimeError RUNTIME_MODEL.
 */
export async function hostBundle(
  loaded: TrustedBundle,
  place: number,
  shared: SharedMeans,
  files: OpenedModels,
  options: HostingOptions,
): Promise<HostedBundle> {
  const { path: policy, bundle, sha256, claims } = loaded;
  const { generateLevel, limits, isOnly, onNotice, nowMs, epochOffsetMs } = options;
  const tell: Notice = (message, severity) =>
    onNotice(isOnly ? message : `${bundle.application}: ${message}`, severity);
  const folder = folderOf(options, place) ?? dirname(policy);
  const isHere = elsewhereOf(bundle.cluster.pools, options)?.isElsewhere.includes(false) ?? true;
  const models = await servedModels(bundle, folder, isHere ? files : null);
  const method = methodOf(bundle);
  let onStartFailed: (reason: string) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    onStartFailed = (reason) => reject(new RuntimeError("RUNTIME_DEVICE", reason));
  });
  failed.catch(() => {});
  const { communicationLatencyMs } = bundle.cluster;
  const own = { policy, pools: servedPools(bundle), communicationLatencyMs };
  const workersOptions = { ...options, ...own, nowMs, shared, onNotice: tell, onStartFailed };
  const workers = new Workers(workersOptions, models, method.workerCount(bundle));
  const recorders = options.recorders.map((recorderOf) => recorderOf(bundle));
  const application = await method.host(bundle, {
    bundleSha256: sha256,
    nowMs,
    epochOffsetMs,
    ...(limits === undefined ? {} : { limits }),
    onWorkerLost: (worker, reason) => tell(`worker ${worker} was lost: ${reason}`, "warn"),
    onNotice: tell,
    workerLines: () => workers.metricLines(),
    axisNames: models.map((model) => model.axisNames),
    workers,
    generateLevel,
    ...(recorders.length === 0 ? {} : { recorder: combinedRecorder(recorders) }),
  });
  return { policy, bundle, sha256, folder, claims, workers, application, files, failed };
}

function combinedRecorder(recorders: readonly Recorder[]): Recorder {
  return (entry) => {
    for (const record of recorders) record(entry);
  };
}

/**
 * Opens a bundle beside one that is served, on workers of its own.
 * @param place of the other among those of the server.
 * @throws what opening workers throws, with no file left open.
 */
export async function hostBeside(
  loaded: TrustedBundle,
  place: number,
  before: HostedBundle,
  options: HostingOptions,
): Promise<HostedBundle> {
  const files = new OpenedModels(before.files);
  try {
    return await hostBundle(loaded, place, new SharedMeans(options), files, options);
  } catch (error) {
    await files.close();
    throw error;
  }
}

/** Returns the pools, with `workers` as the number of worker processes. */
function servedPools(bundle: Bundle): readonly Pool[] {
  const { pools } = bundle.cluster;
  const workers = methodOf(bundle).workersByPool?.(bundle);
  if (workers === undefined || pools.length === 1) return pools;
  return pools.map((pool, index) => ({ ...pool, workers: workers[index] ?? 0 }));
}

function folderOf({ models }: HostingOptions, place: number): string | undefined {
  if (models === undefined || typeof models === "string") return models;
  return models.length > 1 ? models[place] : models[0];
}

/** Returns the names by which clients may call its models. */
export function modelNamesOf({ application }: Pick<HostedBundle, "application">): string[] {
  return application.endpoint.models.flatMap(({ signature }) => signature.names);
}

/**
 * Checks that the models' own names differ. Aliases that are not unique are dropped elsewhere.
 * @throws RuntimeError RUNTIME_MODEL if two bundles have models of the same name, or are the same.
 */
export function expectOwnNames(hosted: readonly HostedBundle[]): void {
  const ownerByName = new Map<string, HostedBundle>();
  for (const one of hosted) {
    for (const name of ownNamesOf(one)) {
      const other = ownerByName.get(name);
      if (other !== undefined) {
        const message = `expected models of other names than those of ${other.policy}`;
        throw new RuntimeError("RUNTIME_MODEL", `${one.policy}: ${message}, got "${name}"`);
      }
      ownerByName.set(name, one);
    }
  }
}

/** Returns the own name of each model, without its aliases. */
export function ownNamesOf({ application }: Pick<HostedBundle, "application">): string[] {
  return application.endpoint.models.flatMap(({ signature }) => signature.names.slice(0, 1));
}

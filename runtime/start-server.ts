/** Opens a server of bundles in this process: its doors, and its workers beside it. */
import { dirname } from "node:path";
import type { Bundle } from "./bundle/schema.ts";
import { RuntimeError } from "./errors.ts";
import type { SettledDevice } from "./exec/worker-pool.ts";
import { hasLimits } from "./exec/worker-spawn.ts";
import { loadBundle } from "./load-bundle.ts";
import type { GenerateLevel } from "./methods/method.ts";
import { methodOf } from "./methods/registry.ts";
import { OpenedModels } from "./opened-models.ts";
import { type ReloadedBundle, Reloads } from "./reloads.ts";
import { servedModels } from "./served-models.ts";
import { Access, type AccessOptions } from "./server/access/access.ts";
import type { Application } from "./server/applications/application.ts";
import type { ServerLimits } from "./server/applications/limits.ts";
import { HttpError, RETRY_LATER } from "./server/connections/http-error.ts";
import type { Reloaded } from "./server/http/admin-hooks.ts";
import type { DoorAddress } from "./server/http/doors.ts";
import { openServer, type RunningServer } from "./server/serve.ts";
import { SharedMeans, Workers, type WorkersOptions } from "./server-workers.ts";
import { packageVersion } from "./version.ts";

export interface ServerOptions extends WorkersOptions {
  /** Paths of the bundles, one for each application, or that of the only one. */
  readonly policy: string | readonly string[];
  /**
   * Folder of the model files, or one for each bundle, in their order; left out for each bundle's
   * own.
   */
  readonly models?: string | readonly string[] | undefined;
  /** Where to listen; left out for 127.0.0.1. */
  readonly host?: string;
  /** Left out, or 0, for any that is free. */
  readonly port?: number;
  readonly limits?: Partial<ServerLimits>;
  /** Who may come in; left out, everybody, over connections that are not encrypted. */
  readonly access?: AccessOptions;
  /** Where administrators are served, and nobody else; left out, with the rest. */
  readonly adminAt?: DoorAddress | undefined;
  /** The same of metrics. */
  readonly metricsAt?: DoorAddress | undefined;
  /** The settings in force, as administrators are told them. */
  readonly config?: () => object;
  /** For what an operator should see, such as a lost worker. */
  readonly onNotice?: (message: string) => void;
  /** A monotonic clock, ms; left out for that of the process. */
  readonly nowMs?: () => number;
  /** What to add to it for milliseconds since 1970. */
  readonly epochOffsetMs?: number;
  /** Computes a level above the highest one; left out where there is no solver. */
  readonly generateLevel?: GenerateLevel | undefined;
}

export interface StartedServer extends RunningServer {
  /** What it was started with, in the order of the options. */
  readonly served: readonly ServedBundle[];
  /**
   * Reads the files of the bundles again and follows those that are good and for this server, and
   * those that say who may come in. One at a time; never rejects.
   * @returns what has become of it.
   */
  reload(): Promise<Reloaded>;
}

export interface ServedBundle {
  /** Path of its file. */
  readonly policy: string;
  readonly bundle: Bundle;
  /** What its workers run on. */
  readonly device: SettledDevice;
}

/**
 * Starts serving bundles. Inference is answered from `started` on, the rest at once.
 * @throws BundleError for a bundle that is refused. @throws RuntimeError RUNTIME_UNREADABLE,
 * RUNTIME_ACCESS, RUNTIME_MODEL, RUNTIME_LISTEN, RUNTIME_MEANS, RUNTIME_DEVICE.
 */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const files = new OpenedModels();
  const { access: who = {}, onNotice } = options;
  const { nowMs } = clockOf(options);
  const notices = onNotice === undefined ? {} : { onNotice };
  const access = await Access.open(who, { nowMs, ...notices });
  try {
    return await startWith(files, access, options);
  } catch (error) {
    access.close();
    await files.close();
    throw error;
  }
}

interface Hosted extends ReloadedBundle {
  readonly bundle: Bundle;
  readonly workers: Workers;
  readonly application: Application;
}

async function startWith(
  files: OpenedModels,
  access: Access,
  options: ServerOptions,
): Promise<StartedServer> {
  const { policy, onNotice = () => {}, limits, adminAt, metricsAt } = options;
  const policies = typeof policy === "string" ? [policy] : policy;
  const hosted = await hostedBundles(policies, files, options);
  const reloads = new Reloads(hosted, files, access);
  let started: RunningServer | undefined;
  const server = await openServer(
    hosted.map(({ application }) => application),
    {
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      ...clockOf(options),
      version: packageVersion(),
      ...(limits === undefined ? {} : { limits }),
      access,
      adminAt,
      metricsAt,
      onNotice,
      admin: {
        reload: async (application) => {
          const reloaded = await reloads.run(expectStarted(started), application);
          if (reloaded !== null) onNotice(reloaded.notice);
          return reloaded;
        },
        config: options.config ?? (() => ({})),
        state: () => stateOf(expectStarted(started), hosted, reloads, access),
      },
    },
  );
  started = server;
  if (!hasLimits()) onNotice("workers have no limit of memory: this system cannot set one");
  return {
    ...server,
    served: hosted.map(({ policy, bundle, workers }) => ({
      policy,
      bundle,
      device: workers.device,
    })),
    reload: async () => {
      const reloaded = await reloads.run(server);
      return reloaded ?? { isFollowed: true, notice: "", applications: [] };
    },
    close: async () => {
      await server.close();
      access.close();
      await files.close();
    },
  };
}

function clockOf({ nowMs, epochOffsetMs = performance.timeOrigin }: ServerOptions) {
  if (nowMs !== undefined) return { nowMs, epochOffsetMs };
  const ownMs = () => performance.now();
  return { nowMs: ownMs, loopNowMs: ownMs, epochOffsetMs };
}

/** All of them, or none is left open. @throws what making one throws. */
async function hostedBundles(
  policies: readonly string[],
  files: OpenedModels,
  options: ServerOptions,
): Promise<Hosted[]> {
  const { threads = 1, onNotice = () => {} } = options;
  const isOnly = policies.length === 1;
  const folders = foldersOf(options.models, policies.length);
  const shared = new SharedMeans(options);
  const hosted: Hosted[] = [];
  try {
    for (const [index, policy] of policies.entries()) {
      const folder = folders.length > 1 ? folders[index] : folders[0];
      const models = folder ?? dirname(policy);
      hosted.push(await hostedBundle(policy, files, { ...options, models, isOnly, shared }));
    }
    expectOwnNames(hosted);
  } catch (error) {
    await Promise.all(hosted.map(({ application }) => application.close()));
    throw error;
  }
  const counts = hosted.map(({ bundle }) => methodOf(bundle).workerCount(bundle));
  const told = shared.sharedCores(
    counts.reduce((sum, count) => sum + count, 0),
    threads,
  );
  if (told !== null) onNotice(told);
  return hosted;
}

/** @throws RuntimeError RUNTIME_USAGE unless there is one, or one for each bundle. */
function foldersOf(models: ServerOptions["models"], policyCount: number): readonly string[] {
  const folders = models === undefined ? [] : typeof models === "string" ? [models] : models;
  if (folders.length <= 1 || folders.length === policyCount) return folders;
  const expected = "expected one folder of models for all, or one for each bundle";
  const found = `got ${folders.length} for ${policyCount} bundles`;
  throw new RuntimeError("RUNTIME_USAGE", `--models: ${expected}, ${found}`);
}

async function hostedBundle(
  policy: string,
  files: OpenedModels,
  options: ServerOptions & {
    readonly models: string;
    readonly isOnly: boolean;
    readonly shared: SharedMeans;
  },
): Promise<Hosted> {
  const { generateLevel, limits, isOnly, onNotice = () => {} } = options;
  const { bundle, sha256 } = await loadBundle(policy);
  const tell = (message: string) =>
    onNotice(isOnly ? message : `${bundle.application}: ${message}`);
  const models = await servedModels(bundle, options.models, files);
  const method = methodOf(bundle);
  const told = { ...options, policy, onNotice: tell };
  const workers = new Workers(told, models, method.workerCount(bundle));
  const application = await method.host(bundle, {
    bundleSha256: sha256,
    nowMs: clockOf(options).nowMs,
    ...(limits === undefined ? {} : { limits }),
    onWorkerLost: (worker, reason) => tell(`worker ${worker} was lost: ${reason}`),
    onNotice: tell,
    axisNames: models.map((model) => model.axisNames),
    workers,
    generateLevel,
  });
  return { policy, bundle, sha256, workers, application };
}

/**
 * Names that models have of their own have to differ; those that are known by others besides are
 * nobody's where they do not.
 * @throws RuntimeError RUNTIME_MODEL if two bundles have models of the same name, or are the same.
 */
function expectOwnNames(hosted: readonly Hosted[]): void {
  const ownerByName = new Map<string, Hosted>();
  for (const one of hosted) {
    for (const name of namesOf(one)) {
      const other = ownerByName.get(name);
      if (other !== undefined) {
        const message = `expected models of other names than those of ${other.policy}`;
        throw new RuntimeError("RUNTIME_MODEL", `${one.policy}: ${message}, got "${name}"`);
      }
      ownerByName.set(name, one);
    }
  }
}

function namesOf({ application: { endpoint } }: Hosted): string[] {
  return endpoint.models.flatMap(({ signature }) => signature.names.slice(0, 1));
}

/** @throws HttpError 503 for administrators who come while the first workers start. */
function expectStarted(server: RunningServer | undefined): RunningServer {
  if (server !== undefined) return server;
  throw new HttpError(503, "the server is starting", RETRY_LATER);
}

/** For administrators: what is served, and by whose leave. */
function stateOf(
  server: RunningServer,
  hosted: readonly Hosted[],
  reloads: Reloads,
  access: Access,
): object {
  return {
    version: packageVersion(),
    url: server.url,
    ready: server.isReady(),
    applications: hosted.map((one, index) => ({
      application: one.application.name,
      policy: one.policy,
      method: one.bundle.method,
      ready: one.application.endpoint.isReady,
      device: one.workers.device,
      workers: methodOf(one.bundle).workerCount(one.bundle),
      models: namesOf(one),
      sha256: reloads.digestOf(index),
      reload: reloads.lastOf(index),
    })),
    access: access.state(),
  };
}

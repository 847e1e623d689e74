/** Opens a server of a bundle in this process: its endpoint over HTTP, its workers beside it. */
import { dirname } from "node:path";
import type { Bundle } from "./bundle/schema.ts";
import type { SettledDevice } from "./exec/worker-pool.ts";
import { hasLimits } from "./exec/worker-spawn.ts";
import { loadBundle } from "./load-bundle.ts";
import type { GenerateLevel } from "./methods/method.ts";
import { methodOf } from "./methods/registry.ts";
import { OpenedModels } from "./opened-models.ts";
import { servedModels } from "./served-models.ts";
import type { RunningServer, ServerLimits } from "./server/serve.ts";
import { Workers, type WorkersOptions } from "./server-workers.ts";
import { packageVersion } from "./version.ts";

export interface ServerOptions extends WorkersOptions {
  /** Path of the bundle. */
  readonly policy: string;
  /** Folder of the model files; left out for the bundle's own. */
  readonly models?: string | undefined;
  /** Where to listen; left out for 127.0.0.1. */
  readonly host?: string;
  /** Left out, or 0, for any that is free. */
  readonly port?: number;
  readonly limits?: Partial<ServerLimits>;
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
  /** The bundle that it was started with. */
  readonly bundle: Bundle;
  /** What the workers run on. */
  readonly device: SettledDevice;
  /**
   * Reads the bundle's file again and follows it if it is good and for this server. Never rejects.
   * @returns whether it is followed, and what is to be said of it.
   */
  reload(): Promise<{ readonly isFollowed: boolean; readonly notice: string }>;
}

/**
 * Starts serving a bundle. Inference is answered from `started` on, the rest at once.
 * @throws BundleError for a bundle that is refused. @throws RuntimeError RUNTIME_UNREADABLE,
 * RUNTIME_MODEL, RUNTIME_LISTEN, RUNTIME_MEANS, RUNTIME_DEVICE.
 */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const files = new OpenedModels();
  try {
    return await startWith(files, options);
  } catch (error) {
    await files.close();
    throw error;
  }
}

async function startWith(files: OpenedModels, options: ServerOptions): Promise<StartedServer> {
  const { policy, onNotice = () => {}, generateLevel, limits } = options;
  const { bundle, sha256 } = await loadBundle(policy);
  const models = await servedModels(bundle, options.models ?? dirname(policy), files);
  const method = methodOf(bundle);
  const workers = new Workers({ ...options, onNotice }, models, method.workerCount(bundle));
  const axisNames = models.map((model) => model.axisNames);
  const server = await method.serve(bundle, {
    bundleSha256: sha256,
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    nowMs: options.nowMs ?? (() => performance.now()),
    ...(options.nowMs === undefined ? { loopNowMs: () => performance.now() } : {}),
    epochOffsetMs: options.epochOffsetMs ?? performance.timeOrigin,
    version: packageVersion(),
    ...(limits === undefined ? {} : { limits }),
    onWorkerLost: (worker, reason) => onNotice(`worker ${worker} was lost: ${reason}`),
    onNotice,
    axisNames,
    workers,
    generateLevel,
  });
  if (!hasLimits()) onNotice("workers have no limit of memory: this system cannot set one");
  return {
    ...server,
    bundle,
    device: workers.device,
    reload: () => reload(server, policy, files),
    close: async () => {
      await server.close();
      await files.close();
    },
  };
}

async function reload(
  server: RunningServer,
  path: string,
  files: OpenedModels,
): Promise<{ readonly isFollowed: boolean; readonly notice: string }> {
  try {
    const { bundle, sha256 } = await loadBundle(path);
    const refusal = server.replaceBundle(bundle, sha256);
    const notice =
      refusal === null
        ? `${path}: serving it as it is now, SHA-256 ${sha256}`
        : `${path}: not followed, the bundle before it goes on deciding: ${refusal}`;
    return { isFollowed: refusal === null, notice: notice + (await changesOf(files)) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const notice = `not followed, the bundle before it goes on deciding: ${reason}`;
    return { isFollowed: false, notice };
  }
}

/** What a server that is told to read anew does not: its models are those that it opened. */
async function changesOf(opened: OpenedModels): Promise<string> {
  const changed = await opened.changed();
  if (changed.length === 0) return "";
  const names = changed.slice(0, MAX_TOLD_FILES).join(", ");
  const rest = changed.length - MAX_TOLD_FILES;
  const files = `${names}${rest > 0 ? ` and ${rest} more` : ""}`;
  return `; models stay those of the start, but these files are others now, or gone: ${files}`;
}

const MAX_TOLD_FILES = 5;

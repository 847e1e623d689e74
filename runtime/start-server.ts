/** Opens a server of a bundle in this process: its endpoint over HTTP, its workers beside it. */
import { dirname } from "node:path";
import type { Bundle } from "./bundle/schema.ts";
import { RuntimeError } from "./errors.ts";
import { type AssignedProcessExecutor, startAssignedExecutor } from "./exec/assigned-pool.ts";
import type {
  AssignedExecutorHandlers,
  Device,
  ExecutorHandlers,
  VariantModel,
} from "./exec/executor.ts";
import {
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  type SettledDevice,
  startExecutor,
} from "./exec/worker-pool.ts";
import { loadBundle } from "./load-bundle.ts";
import type { GenerateLevel, WorkerStarter } from "./methods/method.ts";
import { methodOf } from "./methods/registry.ts";
import { servedModels } from "./served-models.ts";
import type { RunningServer, ServerLimits } from "./server/serve.ts";
import { packageVersion } from "./version.ts";

export interface ServerOptions {
  /** Path of the bundle. */
  readonly policy: string;
  /** Folder of the model files; left out for the bundle's own. */
  readonly models?: string | undefined;
  /** Where to listen; left out for 127.0.0.1. */
  readonly host?: string;
  /** Left out, or 0, for any that is free. */
  readonly port?: number;
  /** What runs the models; left out for "cpu". */
  readonly device?: Device;
  /** Accelerators to spread workers over. */
  readonly deviceIds?: readonly number[];
  /** Threads of a worker, where the bundle does not say its cores; left out for one. */
  readonly threads?: number;
  /** Warm workers in reserve; left out for one. */
  readonly standby?: number;
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
 * RUNTIME_MODEL, RUNTIME_LISTEN, RUNTIME_DEVICE.
 */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const { policy, onNotice = () => {}, generateLevel, limits } = options;
  const { bundle, sha256 } = await loadBundle(policy);
  const models = await servedModels(bundle, options.models ?? dirname(policy));
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
  return { ...server, bundle, device: workers.device, reload: () => reload(server, policy) };
}

async function reload(
  server: RunningServer,
  path: string,
): Promise<{ readonly isFollowed: boolean; readonly notice: string }> {
  try {
    const { bundle, sha256 } = await loadBundle(path);
    const refusal = server.replaceBundle(bundle, sha256);
    const notice =
      refusal === null
        ? `${path}: serving it as it is now, SHA-256 ${sha256}`
        : `${path}: not followed, the bundle before it goes on deciding: ${refusal}`;
    return { isFollowed: refusal === null, notice };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const notice = `not followed, the bundle before it goes on deciding: ${reason}`;
    return { isFollowed: false, notice };
  }
}

type WorkersOptions = Pick<ServerOptions, "threads" | "device" | "deviceIds" | "standby"> &
  Required<Pick<ServerOptions, "onNotice">>;

/** Starts the workers of a server, and remembers what they run on. */
class Workers implements WorkerStarter {
  device: SettledDevice = "cpu";
  readonly #options: WorkersOptions;
  readonly #variants: readonly VariantModel[];
  readonly #workerCount: number;

  constructor(options: WorkersOptions, variants: readonly VariantModel[], workerCount: number) {
    this.#options = options;
    this.#variants = variants;
    this.#workerCount = workerCount;
  }

  /** All models on every worker. @throws RuntimeError RUNTIME_DEVICE */
  async start(handlers: ExecutorHandlers): Promise<ProcessExecutor> {
    const standbyCount = this.#options.standby ?? 1;
    const start = startExecutor({ ...this.#executorOptions(), standbyCount }, this.#told(handlers));
    return this.#settled(start);
  }

  /** On every worker what it is assigned. @throws RuntimeError RUNTIME_DEVICE */
  async startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedProcessExecutor> {
    return this.#settled(startAssignedExecutor(this.#executorOptions(), this.#told(handlers)));
  }

  #executorOptions() {
    const { threads: threadsPerWorker = 1, device = "cpu", deviceIds = [] } = this.#options;
    const [variants, workerCount] = [this.#variants, this.#workerCount];
    return { variants, workerCount, threadsPerWorker, device, deviceIds };
  }

  #told<H extends ExecutorHandlers>(handlers: H): H & ProcessExecutorHandlers {
    const { onNotice } = this.#options;
    return {
      ...handlers,
      onStartFailed: (reason, retryMs) =>
        onNotice(`a worker failed at its start: ${reason}; another try in ${retryMs} ms`),
    };
  }

  async #settled<E extends ProcessExecutor>(start: Promise<E>): Promise<E> {
    try {
      const executor = await start;
      this.device = executor.device;
      return executor;
    } catch (error) {
      throw new RuntimeError("RUNTIME_DEVICE", error instanceof Error ? error.message : `${error}`);
    }
  }
}

/** `serve --policy BUNDLE`: answers inference requests until it is told to stop. */
import { dirname } from "node:path";
import type { Bundle } from "../bundle/schema.ts";
import { EXIT_CODES, RuntimeError } from "../errors.ts";
import { type AssignedProcessExecutor, startAssignedExecutor } from "../exec/assigned-pool.ts";
import type {
  AssignedExecutorHandlers,
  Device,
  ExecutorHandlers,
  VariantModel,
} from "../exec/executor.ts";
import {
  type ProcessExecutor,
  type ProcessExecutorHandlers,
  type SettledDevice,
  startExecutor,
} from "../exec/worker-pool.ts";
import { loadBundle } from "../load-bundle.ts";
import type { GenerateLevel, WorkerStarter } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import { servedModels } from "../served-models.ts";
import type { RunningServer } from "../server/serve.ts";
import type { CommandResult } from "./command-result.ts";

export interface ServeOptions {
  /** Path of the bundle. */
  readonly policy: string;
  /** Folder of the model files; null for the bundle's own. */
  readonly models: string | null;
  /** HOST:PORT. */
  readonly http: string;
  readonly device: Device;
  readonly deviceIds: readonly number[];
  readonly threads: number;
  readonly standby: number;
}

export interface ServeSurroundings {
  /** A monotonic clock, ms. */
  readonly nowMs: () => number;
  /** What to add to it for milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly version: string;
  /** Aborting it stops the server: what was accepted is answered first. */
  readonly signal: AbortSignal;
  /** Called once every worker is ready. */
  readonly onReady: (result: CommandResult) => void;
  /** For what an operator should see, such as a lost worker. */
  readonly onNotice: (message: string) => void;
  /** Calls back, any number of times, when the bundle's file is to be read again. */
  readonly onReload: (reload: () => void) => void;
  /** Computes a level above the highest one; absent where there is no solver. */
  readonly generateLevel?: GenerateLevel | undefined;
}

/** @throws BundleError, RuntimeError */
export async function serveCommand(
  options: ServeOptions,
  surroundings: ServeSurroundings,
): Promise<void> {
  const { nowMs, epochOffsetMs, version, signal, onReady, onNotice, generateLevel } = surroundings;
  const { bundle, sha256 } = await loadBundle(options.policy);
  const models = await servedModels(bundle, options.models ?? dirname(options.policy));
  const method = methodOf(bundle);
  const workerCount = method.workerCount(bundle);
  const common = {
    bundleSha256: sha256,
    ...parseAddress(options.http),
    nowMs,
    epochOffsetMs,
    version,
    onWorkerLost: (worker: number, reason: string) =>
      onNotice(`worker ${worker} was lost: ${reason}`),
    onNotice,
  };
  const workers = new Workers({ options, models, workerCount, onNotice });
  const axisNames = models.map((model) => model.axisNames);
  const server = await method.serve(bundle, { ...common, axisNames, workers, generateLevel });
  surroundings.onReload(() => void reload(server, options.policy, onNotice));
  await Promise.race([server.started, aborted(signal)]);
  onReady(readyResult(server, options, bundle, workers.device));
  await aborted(signal);
  onNotice("stopping: answering what was accepted");
  await server.close();
}

/**
 * Reads the bundle's file again and follows it if it is good and for this server; otherwise says
 * why not. Never rejects.
 */
async function reload(
  server: RunningServer,
  path: string,
  onNotice: (message: string) => void,
): Promise<void> {
  try {
    const { bundle, sha256 } = await loadBundle(path);
    const refusal = server.replaceBundle(bundle, sha256);
    onNotice(
      refusal === null
        ? `${path}: serving it as it is now, SHA-256 ${sha256}`
        : `${path}: not followed, the bundle before it goes on deciding: ${refusal}`,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    onNotice(`not followed, the bundle before it goes on deciding: ${reason}`);
  }
}

interface WorkersOptions {
  readonly options: ServeOptions;
  readonly models: readonly VariantModel[];
  readonly workerCount: number;
  readonly onNotice: (message: string) => void;
}

/** Starts the workers of a server, and remembers what they run on. */
class Workers implements WorkerStarter {
  device: SettledDevice = "cpu";
  readonly #options: WorkersOptions;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** All models on every worker. @throws RuntimeError RUNTIME_DEVICE */
  async start(handlers: ExecutorHandlers): Promise<ProcessExecutor> {
    const standbyCount = this.#options.options.standby;
    const start = startExecutor({ ...this.#executorOptions(), standbyCount }, this.#told(handlers));
    return this.#settled(start);
  }

  /** On every worker what it is assigned. @throws RuntimeError RUNTIME_DEVICE */
  async startAssigned(handlers: AssignedExecutorHandlers): Promise<AssignedProcessExecutor> {
    return this.#settled(startAssignedExecutor(this.#executorOptions(), this.#told(handlers)));
  }

  #executorOptions() {
    const { options, models: variants, workerCount } = this.#options;
    const { threads: threadsPerWorker, device, deviceIds } = options;
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

function readyResult(
  { url }: RunningServer,
  { policy }: ServeOptions,
  bundle: Bundle,
  device: SettledDevice,
): CommandResult {
  const method = methodOf(bundle);
  const { workers, more, json } = method.tellServing(bundle);
  return {
    exitCode: EXIT_CODES.ok,
    text: `serving ${policy} at ${url}: ${workers} on ${device}${more}`,
    json: { url, policy, workers: method.workerCount(bundle), device, ...json },
  };
}

/** @throws RuntimeError if it is not HOST:PORT. */
function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(.+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  const host = match?.[1]?.replace(/^\[(.*)\]$/, "$1");
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `expected --http HOST:PORT such as 127.0.0.1:8000, got "${text}"`,
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

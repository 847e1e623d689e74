/** `serve --policy BUNDLE`: answers inference requests until it is told to stop. */
import { dirname } from "node:path";
import type { AccordionBundle, Bundle, InferlineBundle, ThemisBundle } from "../bundle/schema.ts";
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
import { classOfPlaces } from "../methods/accordion/core/pipeline-table.ts";
import type { GenerateLevel } from "../methods/ramsis/serve/level-generation.ts";
import { scaleShapeOf } from "../methods/themis/core/scale-shape.ts";
import { openForecastModel } from "../methods/themis/serve/forecast-model.ts";
import { type ServedModel, servedModels } from "../served-models.ts";
import {
  type CommonServerOptions,
  type PipelineServerOptions,
  type RunningServer,
  startPipelineServer,
  startPlaceServer,
  startServer,
} from "../server/serve.ts";
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
  const workerCount = workerCountOf(bundle);
  const isForetold = bundle.method === "themis" && bundle.policy.predictor === "lstm";
  const forecaster = isForetold ? await openForecastModel() : undefined;
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
  const server = await started({ common, bundle, models, workers, generateLevel, forecaster });
  surroundings.onReload(() => void reload(server, options.policy, onNotice));
  await Promise.race([server.started, aborted(signal)]);
  onReady(readyResult(server, options, bundle, workers.device));
  await aborted(signal);
  onNotice("stopping: answering what was accepted");
  await server.close();
  await forecaster?.close();
}

interface StartOptions {
  readonly common: CommonServerOptions;
  readonly bundle: Bundle;
  readonly models: readonly ServedModel[];
  readonly workers: Workers;
  readonly generateLevel: GenerateLevel | undefined;
  readonly forecaster: PipelineServerOptions["forecaster"];
}

function started(options: StartOptions): Promise<RunningServer> {
  const { common, bundle, models, workers, generateLevel, forecaster } = options;
  const executorFactory = (handlers: ExecutorHandlers) => workers.start(handlers);
  if (bundle.method === "ramsis") {
    return startServer({ ...common, bundle, executorFactory, generateLevel });
  }
  if (bundle.method === "accordion") {
    return startPlaceServer({ ...common, bundle, executorFactory });
  }
  return startPipelineServer({
    ...common,
    bundle,
    axisNames: models.map(({ axisNames }) => axisNames),
    executorFactory: (handlers) => workers.startAssigned(handlers),
    forecaster,
  });
}

/** Reads the bundle's file again and follows it if it is good and for this server; otherwise says why not. Never rejects. */
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
class Workers {
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
  if (bundle.method === "accordion") return placesResult(url, policy, bundle, device);
  const workers = workerCountOf(bundle);
  const text = `serving ${policy} at ${url}: ${workers} workers on ${device}`;
  const json = { url, policy, workers, device };
  if (bundle.method !== "inferline" && bundle.method !== "themis") {
    return { exitCode: EXIT_CODES.ok, text, json };
  }
  const { stages, texts } =
    bundle.method === "inferline" ? firstReplicas(bundle) : firstInstances(bundle);
  return {
    exitCode: EXIT_CODES.ok,
    text: [text, ...texts].join("\n"),
    json: { ...json, stages },
  };
}

function placesResult(
  url: string,
  policy: string,
  bundle: AccordionBundle,
  device: SettledDevice,
): CommandResult {
  const places = workerCountOf(bundle);
  const models = bundle.tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  const count = places === 1 ? "1 execution place" : `${places} execution places`;
  const of = `${models.length === 1 ? "model" : "models"} ${models.join(", ")}`;
  return {
    exitCode: EXIT_CODES.ok,
    text: `serving ${policy} at ${url}: ${count} on ${device}; ${of}`,
    json: { url, policy, workers: places, device, models },
  };
}

/** Worker places: of a bundle that scales, as many as its plans and bursts have instances at a time; of malleable pipelines, the execution places. */
function workerCountOf(bundle: Bundle): number {
  if (bundle.method === "themis") return scaleShapeOf(bundle).workerCount;
  const workers = bundle.cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  return bundle.method === "accordion" ? classOfPlaces(bundle).length : workers;
}

/** The stages that a server begins with: those of the highest level. */
interface FirstStages {
  readonly stages: readonly object[];
  readonly texts: readonly string[];
}

function firstReplicas({ tasks, cluster, levels }: InferlineBundle): FirstStages {
  const stages = (levels.at(-1)?.plan.stages ?? []).map(({ pool, batch, replicas }, index) => {
    const { name = "", hardware = null } = cluster.pools[pool] ?? {};
    const task = tasks[index]?.name ?? "";
    return { task, hardware: hardware ?? name, batch, replicas };
  });
  const texts = stages.map(({ task, hardware, batch, replicas }) => {
    const times = replicas === 1 ? "1 replica" : `${replicas} replicas`;
    return `  ${task}: ${times} planned for ${hardware}, batches up to ${batch}`;
  });
  return { stages, texts };
}

function firstInstances({ tasks, levels }: ThemisBundle): FirstStages {
  const stages = (levels.at(-1)?.steady.stages ?? []).map((stage, index) => {
    return { task: tasks[index]?.name ?? "", ...stage };
  });
  const texts = stages.map(({ task, batch, cores, instances }) => {
    const times = instances === 1 ? "1 instance" : `${instances} instances`;
    const size = cores === 1 ? "1 core" : `${cores} cores`;
    return `  ${task}: ${times} of ${size}, batches up to ${batch}`;
  });
  return { stages, texts };
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

/**
 * Workers that `profile` measures. Each holds the variants that it runs, with a warm session for
 * each number of cores.
 */
import type {
  AssignedExecutor,
  AssignedExecutorHandlers,
  Batch,
  BatchResult,
  ExecutorOptions,
  VariantModel,
  VariantPart,
} from "stratagem-runtime/internal/exec/models/executor";
import {
  defaultDevice,
  type WorkerDevice,
} from "stratagem-runtime/internal/exec/models/worker-device";
import { entryOf } from "stratagem-runtime/internal/exec/modules/host-source";
import type { ProcessExecutorHandlers } from "stratagem-runtime/internal/exec/pool/worker-pool";
import type { HostVariant } from "../spec/application.ts";
import { InputError } from "../spec/document/input-error.ts";
import type { PlannedVariant, ProfilePlan } from "./profile-plan.ts";

export interface ProfiledWorker {
  /** @throws WorkerLostError, InferenceError as `Executor.run`. */
  run(batch: Batch): Promise<BatchResult>;
  /**
   * Resolves when the next batch will run on `cores`.
   * @throws InputError if the worker is lost; the signal's reason.
   */
  resize(cores: number): Promise<void>;
}

/** Time limit of a batch on another server. */
const REMOTE_TIMEOUT_MS = 60_000;

interface ProfiledWorkers {
  readonly workers: readonly ProfiledWorker[];
  close(): Promise<void>;
}

export interface WorkerSources {
  readonly startExecutor: (
    options: Omit<ExecutorOptions, "standbyCount">,
    handlers: AssignedExecutorHandlers & ProcessExecutorHandlers,
  ) => AssignedExecutor | Promise<AssignedExecutor>;
  readonly signal: AbortSignal;
}

/**
 * Starts workers with the first number of cores of the plan.
 * @param held indices of the variants that each worker holds: one list per worker.
 * @throws InputError if one does not start; the signal's reason.
 */
export async function startWorkers(
  plan: ProfilePlan,
  held: readonly (readonly number[])[],
  { startExecutor, signal }: WorkerSources,
): Promise<ProfiledWorkers> {
  const changes = held.map(() => new Change(signal));
  const areReady = Promise.all(
    changes.map((change) => change.begin((reason) => noWorker(plan, reason))),
  );
  // It is awaited after the executor is created.
  areReady.catch(() => {});
  let executor: AssignedExecutor;
  try {
    executor = await startExecutor(executorOptions(plan, held.length), {
      onReady: (worker) => executor.assign(worker, held[worker] ?? [], plan.cores[0]),
      onModelReady: (worker) => changes[worker]?.end(),
      onResized: (worker) => changes[worker]?.end(),
      onLost: (worker, reason) => changes[worker]?.fail(reason),
    });
  } catch (error) {
    throw noWorker(plan, error instanceof Error ? error.message : String(error));
  }
  try {
    await areReady;
  } catch (error) {
    await executor.close();
    throw error;
  }
  const workers = changes.map((change, worker): ProfiledWorker => {
    return {
      run: (batch) => executor.run(worker, batch),
      resize: (cores) => {
        const isResized = change.begin((reason) => notResized(cores, reason));
        executor.resize(worker, cores);
        return isResized;
      },
    };
  });
  return { workers, close: () => executor.close() };
}

/** Pending change of a worker: one at a time. */
export class Change {
  readonly #signal: AbortSignal;
  #resolve = (): void => {};
  #reject = (_error: unknown): void => {};
  #explain: (reason: string) => unknown = (reason) => reason;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#reject(signal.reason), { once: true });
  }

  /** @param explain makes the error if the worker is lost instead. */
  begin(explain: (reason: string) => InputError): Promise<void> {
    this.#explain = explain;
    const ended = new Promise<void>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#signal.aborted) reject(this.#signal.reason);
    });
    // The caller may await it later.
    ended.catch(() => {});
    return ended;
  }

  end(): void {
    this.#resolve();
  }

  /** A run reports the loss of its worker itself. */
  fail(reason: string): void {
    this.#reject(this.#explain(reason));
  }
}

export function executorOptions(
  { variants, cores, device, on }: ProfilePlan,
  workerCount: number,
): Omit<ExecutorOptions, "standbyCount"> {
  return {
    variants: variants.map(({ name, path, host, chain, outputsAreRows, model }) => {
      const { inputs, outputs, adapter, buckets } = model;
      const how = { ...(adapter && { adapter }), ...(buckets && { buckets }), ...hosted(host) };
      const files = chained(chain, model);
      const tensors = { inputs, outputs, outputsAreRows };
      return { name, path, ...how, ...files, ...tensors, warmBatches: [], warmCores: cores };
    }),
    workerCount,
    threadsPerWorker: cores[0],
    devices: new Array<WorkerDevice>(workerCount).fill({ ...defaultDevice(device), ...on }),
  };
}

/** Options of a worker for a model of several files. */
function chained(
  chain: readonly string[] | undefined,
  { parts = [] }: PlannedVariant["model"],
): Partial<VariantModel> {
  const [path, ...others] = chain ?? [];
  if (path === undefined) return {};
  const files = parts.flatMap(({ inputs, outputs }, index): VariantPart[] => {
    const other = others[index];
    return other === undefined ? [] : [{ path: other, inputs, outputs }];
  });
  return { path, parts: files };
}

/** Options of a worker for a module or server. */
function hosted(host: HostVariant | undefined): Partial<VariantModel> {
  if (host === undefined) return {};
  if (host.kind === "remote") {
    const { url, model } = host;
    return { remote: { url, model, timeoutMs: REMOTE_TIMEOUT_MS } };
  }
  const { options, folder } = host;
  return { path: entryOf(host), module: { options, folder } };
}

export function noWorker({ device }: ProfilePlan, reason: string): InputError {
  const message = `device ${device}: expected a worker that starts, got: ${reason}`;
  return new InputError("INPUT_INVALID_VALUE", message);
}

function notResized(cores: number, reason: string): InputError {
  const message = `expected a worker that goes on with ${cores} cores, got: ${reason}`;
  return new InputError("INPUT_INVALID_VALUE", message);
}

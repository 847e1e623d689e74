/** The one worker that `profile` measures: it holds every variant, with a warm session for each number of cores. */
import type {
  AssignedExecutor,
  AssignedExecutorHandlers,
  Batch,
  BatchResult,
  ExecutorOptions,
} from "../../runtime/exec/executor.ts";
import { InputError } from "../spec/input-error.ts";
import type { ProfilePlan } from "./profile-plan.ts";

export interface ProfiledWorker {
  /** @throws WorkerLostError, InferenceError as `Executor.run`. */
  run(batch: Batch): Promise<BatchResult>;
  /** Kept once the next batch runs on so many cores. @throws InputError if the worker is lost meanwhile; the signal's reason. */
  resize(cores: number): Promise<void>;
  close(): Promise<void>;
}

export interface WorkerSources {
  readonly startExecutor: (
    options: Omit<ExecutorOptions, "standbyCount">,
    handlers: AssignedExecutorHandlers,
  ) => AssignedExecutor | Promise<AssignedExecutor>;
  readonly signal: AbortSignal;
}

/** A worker with the first number of cores of the plan. @throws InputError if none starts; the signal's reason. */
export async function startWorker(
  plan: ProfilePlan,
  { startExecutor, signal }: WorkerSources,
): Promise<ProfiledWorker> {
  const change = new Change(signal);
  const isReady = change.begin((reason) => noWorker(plan, reason));
  let executor: AssignedExecutor;
  try {
    executor = await startExecutor(executorOptions(plan), {
      onReady: (worker) => executor.assign(worker, [...plan.variants.keys()], plan.cores[0]),
      onModelReady: () => change.end(),
      onResized: () => change.end(),
      onLost: (_worker, reason) => change.fail(reason),
    });
  } catch (error) {
    throw noWorker(plan, error instanceof Error ? error.message : String(error));
  }
  try {
    await isReady;
  } catch (error) {
    await executor.close();
    throw error;
  }
  return {
    run: (batch) => executor.run(0, batch),
    resize: (cores) => {
      const isResized = change.begin((reason) => notResized(cores, reason));
      executor.resize(0, cores);
      return isResized;
    },
    close: () => executor.close(),
  };
}

/** What is awaited of the worker: one thing at a time. */
class Change {
  readonly #signal: AbortSignal;
  #resolve = (): void => {};
  #reject = (_error: unknown): void => {};
  #explain: (reason: string) => unknown = (reason) => reason;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#reject(signal.reason), { once: true });
  }

  /** @param explain what to say if the worker is lost instead. */
  begin(explain: (reason: string) => InputError): Promise<void> {
    this.#explain = explain;
    const ended = new Promise<void>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#signal.aborted) reject(this.#signal.reason);
    });
    // Who awaits it may still be on the way to it.
    ended.catch(() => {});
    return ended;
  }

  end(): void {
    this.#resolve();
  }

  /** A worker lost in a run is told by that run. */
  fail(reason: string): void {
    this.#reject(this.#explain(reason));
  }
}

function executorOptions({
  variants,
  cores,
  device,
}: ProfilePlan): Omit<ExecutorOptions, "standbyCount"> {
  return {
    variants: variants.map(({ name, path, outputsAreRows, model: { inputs, outputs } }) => {
      return { name, path, inputs, outputs, outputsAreRows, warmBatches: [], warmCores: cores };
    }),
    workerCount: 1,
    threadsPerWorker: cores[0],
    device,
    deviceIds: [],
  };
}

function noWorker({ device }: ProfilePlan, reason: string): InputError {
  const message = `device ${device}: expected a worker that starts, got: ${reason}`;
  return new InputError("INPUT_INVALID_VALUE", message);
}

function notResized(cores: number, reason: string): InputError {
  const message = `expected a worker that goes on with ${cores} cores, got: ${reason}`;
  return new InputError("INPUT_INVALID_VALUE", message);
}

/** The interface between a server and its workers. */
import type { BucketAxis, ModelAdapter, TensorInfo } from "../../bundle/schema.ts";
import type { OpenedModel } from "../files/whole-model.ts";
import type { CpuFallback } from "./model-facts.ts";
import type { LossCause, Scaler, ScalerHandlers } from "./scaler.ts";
import type { WorkerDevice } from "./worker-device.ts";

/** An ES module that runs as a model. */
export interface VariantModule {
  /** Options that it is opened with, as JSON. */
  readonly options: string;
  /** Folder with files that it may open. */
  readonly folder: string;
}

/** A model on another server. */
export interface VariantRemote {
  readonly url: string;
  readonly model: string;
  /** Limit for one answer. */
  readonly timeoutMs: number;
}

/** A file that workers read. */
export interface VariantFile {
  readonly path: string;
  /**
   * The same file, opened: workers inherit the descriptor and load nothing else. If left out, each
   * worker opens the path.
   */
  readonly opened?: OpenedModel;
}

/** A further file of a variant, with its own tensors. */
export interface VariantPart extends VariantFile {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** A model that workers load: one variant of the task. */
export interface VariantModel extends VariantFile {
  readonly name: string;
  /** Path of the ONNX file or of the module's entry; URL of a remote model. */
  readonly path: string;
  /** SHA-256 of the file, if it lies only on other machines. */
  readonly digest?: string;
  readonly module?: VariantModule;
  readonly remote?: VariantRemote;
  /**
   * ONNX files that run after the first, each on outputs of earlier ones, by name; left out for a
   * single file. The outputs of the variant are those of the last.
   */
  readonly parts?: readonly VariantPart[];
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  /** Conversion from and to the model's own tensors; left out if they are the same. */
  readonly adapter?: ModelAdapter;
  /** Axes of several sizes; left out if the variant has no such axis. */
  readonly buckets?: readonly BucketAxis[];
  /**
   * Batch sizes to run before the worker counts as ready. On a GPU the sizes that `warmSizes` adds
   * run as well.
   */
  readonly warmBatches: readonly number[];
  /**
   * Largest size of other batches: late queries, requests for a variant by name, or fewer queries
   * than planned. If left out, only `warmBatches` sizes come.
   */
  readonly largestBatch?: number;
  /** Whether the model may refuse zeros, such as a stage that takes indices; default false. */
  readonly mayRefuseZeros?: boolean;
  /** Indices of the cluster's pools that plans place it in; left out for any pool. */
  readonly pools?: readonly number[];
  /**
   * Core counts with a warm session, so that a worker can change to them at once; default:
   * `threadsPerWorker` only.
   */
  readonly warmCores?: readonly number[];
  /**
   * False if outputs may have another number of rows than the batch, as for tasks of a pipeline;
   * default true.
   */
  readonly outputsAreRows?: boolean;
}

/** Returns the core counts for which a worker that holds the variant has a warm session. */
export function warmCoresOf(variant: VariantModel, threadsPerWorker: number): readonly number[] {
  return variant.warmCores ?? [threadsPerWorker];
}

export interface ExecutorOptions {
  readonly variants: readonly VariantModel[];
  readonly workerCount: number;
  /** Warmed standbys beyond `workerCount`, per device, that replace a lost worker. */
  readonly standbyCount: number;
  readonly threadsPerWorker: number;
  /** Device of each worker slot. */
  readonly devices: readonly WorkerDevice[];
  /**
   * Whether one worker tries the device first, so that a crashing driver takes down only that one;
   * default: all start at the same time.
   */
  readonly isTrial?: boolean;
  /** Pool index of each worker slot; left out if there is only one pool. */
  readonly pools?: readonly number[];
  /** Whether nodes that a GPU leaves to the processor are allowed; default allow. */
  readonly cpuFallback?: CpuFallback;
}

/** A tensor kept on the worker that made it, until another worker fetches it from there. */
export interface StayedTensor {
  /** URL of that worker. */
  readonly url: string;
  /** Key under which that worker keeps it. */
  readonly key: string;
  readonly shape: readonly number[];
}

/** Rows of several requests, run as one. */
export interface Batch {
  /** Index into `ExecutorOptions.variants`. */
  readonly variant: number;
  readonly rows: number;
  /** Which of the bucket sizes its rows have, as `bucketSizes` counts them; default 0. */
  readonly bucket?: number;
  /**
   * Per input tensor the row-major little-endian bytes of the requests in order; concatenated they
   * are the tensor. Not kept after `run` settles.
   */
  readonly inputs: readonly (readonly Uint8Array[])[];
  /** Inputs that earlier results left on a worker, by input; these have no bytes. */
  readonly stayed?: readonly (StayedTensor | undefined)[];
  /**
   * Indices of outputs that only other batches take: remote workers may keep them. If left out, all
   * come back.
   */
  readonly stays?: ReadonlySet<number>;
  /**
   * Profiled p99 for the variant, rows and cores, ms: a worker that takes several times as long
   * counts as hung. Left out if not known.
   */
  readonly p99Ms?: number | undefined;
  /**
   * When the last of its queries is late, by the server's clock, ms: a batch that fails earlier
   * runs again on another worker. Left out where it runs only once.
   */
  readonly deadlineMs?: number;
}

export interface BatchResult {
  /**
   * Per output tensor its shape, with the rows as axis 0, and its row-major little-endian bytes in
   * memory of its own; no bytes for an output that stayed on the worker.
   */
  readonly outputs: readonly {
    readonly shape: readonly number[];
    readonly bytes: Uint8Array;
    readonly stayed?: StayedTensor;
  }[];
  /** Duration of the run inside the worker. */
  readonly wallMs: number;
  /** Processor time of the worker during the run, all threads. */
  readonly cpuMs: number;
  /** Cores it could use: the threads of its session. */
  readonly cores: number;
}

/** @param ranMs duration of the run inside the worker; left out if not known yet. */
export type OnComputed = (ranMs?: number) => void;

export interface ExecutorHandlers {
  /** Called when a worker slot can take batches: at the start, and again after a loss. */
  readonly onReady: (worker: number) => void;
  /**
   * Called when the process of a worker slot ended, or is being killed because it hung. Its batches
   * have been rejected with WorkerLostError just before.
   * @param cause default ended.
   */
  readonly onLost: (worker: number, reason: string, cause?: LossCause) => void;
  /**
   * Like `onLost`, but a standby has taken over the slot and can run a batch already, so batches
   * waiting for the slot can stay. If left out, `onLost` and `onReady` are called instead, one
   * right after the other.
   */
  readonly onReplaced?: (worker: number, reason: string, cause?: LossCause) => void;
  /** Called when a batch that failed on a worker is about to run on another. */
  readonly onRetried?: ((worker: number, rows: number) => void) | undefined;
}

/**
 * Runs batches on worker slots 0 … workerCount − 1. Each worker computes at most one batch at a
 * time, and at most one answer is on its way from it. A lost worker is replaced eventually.
 */
export interface Executor {
  /**
   * @param onComputed called at most once, before the promise settles: the worker has computed the
   * batch and takes the next one while this answer is on its way. If it is not called, the worker
   * takes the next one once the promise settles. Gets the `wallMs` of the result if known.
   * @throws WorkerLostError if the worker ended during the run, or was killed because it took too
   * long; InferenceError if the model refused the batch, which affects no other batch;
   * RowsRefusedError if only some of its rows are at fault.
   */
  run(worker: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult>;
  /** Ends every worker; a running batch is rejected. */
  close(): Promise<void>;
}

/**
 * An executor whose workers start without a model; the caller assigns variants and cores. A worker
 * slot is ready once a process could be started for it.
 */
export interface AssignedExecutor extends Executor, Scaler {}

export interface AssignedExecutorHandlers extends ExecutorHandlers, ScalerHandlers {}

export class WorkerLostError extends Error {
  constructor(worker: number, reason: string) {
    super(`worker ${worker} ended during the batch: ${reason}`);
    this.name = "WorkerLostError";
  }
}

export class InferenceError extends Error {
  /** Message without the variant. */
  readonly reason: string;
  /** Whether the worker says that the input is at fault. */
  readonly isRefusal: boolean;

  constructor(variant: string, reason: string, isRefusal = false) {
    super(`${variant}: ${reason}`);
    this.name = "InferenceError";
    this.reason = reason;
    this.isRefusal = isRefusal;
  }
}

/** Some rows of a batch are at fault; the other rows can run again. */
export class RowsRefusedError extends InferenceError {
  /** Indices into the batch, ascending, at least one. */
  readonly rows: readonly number[];

  /** @param isRefusal false if the model fails the rows instead of refusing their content. */
  constructor(variant: string, reason: string, rows: readonly number[], isRefusal = true) {
    super(variant, reason, isRefusal);
    this.name = "RowsRefusedError";
    this.rows = rows;
  }
}

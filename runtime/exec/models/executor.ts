/** States the interface between a server and its workers. */
import type { BucketAxis, ModelAdapter, TensorInfo } from "../../bundle/schema.ts";
import type { CpuFallback } from "./model-facts.ts";
import type { Scaler, ScalerHandlers } from "./scaler.ts";
import type { WorkerDevice } from "./worker-device.ts";

/** A file that stays open, so that whoever gets its descriptor reads the file that was checked. */
export interface OpenedModel {
  readonly fd: number;
  readonly bytes: number;
  /** Of its content when it was checked. */
  readonly sha256: string;
}

/** An ES module that runs as a model does. */
export interface VariantModule {
  /** JSON, which it is opened with. */
  readonly options: string;
  /** Where files are that it may open. */
  readonly folder: string;
}

/** A model of another server. */
export interface VariantRemote {
  readonly url: string;
  readonly model: string;
  /** Time that an answer may take. */
  readonly timeoutMs: number;
}

/** A file that workers read. */
export interface VariantFile {
  readonly path: string;
  /**
   * The same file, opened: workers inherit it and load nothing else. Left out, each opens the path.
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
  /** Path of the ONNX file, or of the entry of the module; of a remote model its URL. */
  readonly path: string;
  /** SHA-256 of the file, where it lies on other machines alone. */
  readonly digest?: string;
  readonly module?: VariantModule;
  readonly remote?: VariantRemote;
  /**
   * ONNX files that run after the first, each on what those before it give, by name; left out where
   * there is one. What the last gives are the outputs.
   */
  readonly parts?: readonly VariantPart[];
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  /** How its own tensors become those; left out where they are the same. */
  readonly adapter?: ModelAdapter;
  /** Axes of several sizes; left out where there are none. */
  readonly buckets?: readonly BucketAxis[];
  /**
   * Batch sizes to run before the worker counts as ready. On a GPU those that `warmSizes` adds run
   * as well.
   */
  readonly warmBatches: readonly number[];
  /**
   * Batches of any size up to this may come beside those: what is late, asked for by name, or not
   * as many as planned. Left out, no others come.
   */
  readonly largestBatch?: number;
  /** Whether it may refuse zeros, as a stage that wants indices; it does not, if left out. */
  readonly mayRefuseZeros?: boolean;
  /** Pools of the cluster that plans have it in, by index; left out where it may be in any. */
  readonly pools?: readonly number[];
  /**
   * Core counts that a worker can change between at once: it holds a warm session for each. That of
   * `threadsPerWorker` alone if left out.
   */
  readonly warmCores?: readonly number[];
  /**
   * False where outputs may have another number of rows than the batch, as those of a task of a
   * pipeline; true if left out.
   */
  readonly outputsAreRows?: boolean;
}

/** Core counts for which a worker that holds the variant has a warm session. */
export function warmCoresOf(variant: VariantModel, threadsPerWorker: number): readonly number[] {
  return variant.warmCores ?? [threadsPerWorker];
}

export interface ExecutorOptions {
  readonly variants: readonly VariantModel[];
  readonly workerCount: number;
  /**
   * Warmed workers beyond `workerCount` that take the place of one that is lost, of each of the
   * devices.
   */
  readonly standbyCount: number;
  readonly threadsPerWorker: number;
  /** Of each worker slot. */
  readonly devices: readonly WorkerDevice[];
  /**
   * Whether one worker is to find out first whether its device is there, so that a driver that
   * crashes takes only that one along; left out, all start at the same time.
   */
  readonly isTrial?: boolean;
  /** The pool of each worker slot, by index; left out where all are of one. */
  readonly pools?: readonly number[];
  /** Whether nodes that a GPU leaves to the processor are allowed; left out, they are. */
  readonly cpuFallback?: CpuFallback;
}

/** A tensor that is on the worker that made it, until another takes it from there. */
export interface StayedTensor {
  /** Of that worker. */
  readonly url: string;
  /** By which it has the tensor. */
  readonly key: string;
  readonly shape: readonly number[];
}

/** Rows of several requests, run as one. */
export interface Batch {
  /** Index into `ExecutorOptions.variants`. */
  readonly variant: number;
  readonly rows: number;
  /** Which of the sizes its rows have, as `bucketSizes` counts them; 0 if left out. */
  readonly bucket?: number;
  /**
   * Per input tensor the row-major little-endian bytes of the requests in order; concatenated they
   * are the tensor. Not kept after `run` settles.
   */
  readonly inputs: readonly (readonly Uint8Array[])[];
  /** Inputs that results before told to have stayed, by input: these have no bytes. */
  readonly stayed?: readonly (StayedTensor | undefined)[];
  /**
   * Outputs, by index, that other batches alone take: on workers elsewhere they may stay there.
   * Left out, all come back.
   */
  readonly stays?: ReadonlySet<number>;
  /**
   * Profiled for the variant, rows and cores, ms: a worker that takes several times as long has
   * hung. Left out where it is not known.
   */
  readonly p99Ms?: number | undefined;
}

export interface BatchResult {
  /**
   * Per output tensor its shape, axis 0 being the rows, and its row-major little-endian bytes in
   * memory of its own; none of one that has stayed, as the batch allowed.
   */
  readonly outputs: readonly {
    readonly shape: readonly number[];
    readonly bytes: Uint8Array;
    readonly stayed?: StayedTensor;
  }[];
  /** Time of the run inside the worker. */
  readonly wallMs: number;
  /** Processor time of the worker during the run, all threads. */
  readonly cpuMs: number;
  /** Cores it could use: the threads of its session. */
  readonly cores: number;
}

/** @param ranMs time of the run inside the worker; left out where it is not known yet. */
export type OnComputed = (ranMs?: number) => void;

export interface ExecutorHandlers {
  /** A worker slot can take batches: at the start, and again after it was lost. */
  readonly onReady: (worker: number) => void;
  /**
   * The process of a worker slot ended, or is being ended because it hung; its batches, if any,
   * have been rejected with WorkerLostError just before.
   * @param isHung whether it did not answer in time; no, if it is left out.
   */
  readonly onLost: (worker: number, reason: string, isHung?: boolean) => void;
  /**
   * As `onLost`, but a standby has taken the slot and can run a batch already: what waits for the
   * slot can stay. Left out, `onLost` and `onReady` are called in its stead, one right after the
   * other.
   */
  readonly onReplaced?: (worker: number, reason: string, isHung?: boolean) => void;
}

/**
 * Runs batches on worker slots 0 … workerCount − 1. Each computes at most one batch at a time, and
 * at most one answer is on its way from it. A worker that is lost is followed by another, sooner or
 * later.
 */
export interface Executor {
  /**
   * @param onComputed called at most once, before the promise is settled: the worker has computed
   * the batch and takes the next one, while the answer of this one is on its way. Where it is not
   * called the worker takes the next one once the promise is settled. It gets the `wallMs` of the
   * result if that is known.
   * @throws WorkerLostError if the worker ended during the run or had to be ended, because it took
   * too long; InferenceError if the model refused the batch, which harms no other batch, as
   * RowsRefusedError where some rows of it are at fault.
   */
  run(worker: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult>;
  /** Ends every worker; a running batch is rejected. */
  close(): Promise<void>;
}

/**
 * An executor whose workers start without a model and are told which to hold, on how many cores. A
 * worker slot is ready once a process could be started for it.
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
  constructor(variant: string, reason: string) {
    super(`${variant}: ${reason}`);
    this.name = "InferenceError";
  }
}

/** A module will not have some rows of a batch, for what they are; the others it would run. */
export class RowsRefusedError extends InferenceError {
  /** Of the batch, ascending, at least one. */
  readonly rows: readonly number[];

  constructor(variant: string, reason: string, rows: readonly number[]) {
    super(variant, reason);
    this.name = "RowsRefusedError";
    this.rows = rows;
  }
}

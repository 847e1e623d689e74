/** One remote worker: its readiness, models and batches. */
import { assert } from "../core/assert.ts";
import type { BatchPace, TimedBatch } from "../exec/limits/batch-pace.ts";
import { retryDelayMs } from "../exec/limits/worker-limits.ts";
import {
  type Batch,
  type BatchResult,
  InferenceError,
  type OnComputed,
  RowsRefusedError,
  type VariantModel,
  WorkerLostError,
} from "../exec/models/executor.ts";
import { oneLine } from "../exec/models/loaded-model.ts";
import type { LossCause } from "../exec/models/scaler.ts";
import { tensorMistake } from "../exec/tensors/host-tensors.ts";
import {
  type BatchAnswer,
  nextBatchId,
  type OpenAnswer,
  RemoteMistake,
  ServerRefusal,
} from "./asked-batch.ts";
import { BatchTimer } from "./batch-timer.ts";
import { type Holding, heldModel } from "./held-models.ts";
import type { Hops } from "./hops.ts";
import type { HttpConnection } from "./http-connection.ts";
import type { RemoteLimits } from "./remote-options.ts";
import type { RemoteMember } from "./remote-workers.ts";
import { sentTensors } from "./sent-tensors.ts";
import { StatedHops } from "./stated-hops.ts";

interface RemoteWorkerOptions {
  readonly variants: readonly VariantModel[];
  /** Indices of variants held from the start; others are assigned. */
  readonly ownVariants: readonly number[];
  readonly threads: number;
  readonly frontEnd: string;
  readonly limits: RemoteLimits;
  readonly pace: BatchPace;
  readonly hops: Hops;
  readonly connection: HttpConnection;
}

/** Callbacks of a worker, never called within one of its own methods or after it was closed. */
export interface RemoteWorkerListener {
  /** The worker is ready and holds its own variants. */
  readonly onJoined: (worker: RemoteWorker) => void;
  /** The worker is no longer ready; its batches have just been rejected. */
  readonly onLost: (worker: RemoteWorker, reason: string, cause: LossCause) => void;
  /** The worker cannot be used; the next attempt is in `retryMs`. */
  readonly onUnusable: (worker: RemoteWorker, error: Error, retryMs: number) => void;
}

interface OpenBatch {
  readonly slot: number;
  readonly timer: BatchTimer;
  open: OpenAnswer | null;
  retry: NodeJS.Timeout | undefined;
  readonly reject: (error: Error) => void;
}

/** Retry interval for a worker with an unsuitable configuration. */
const MISTAKE_RETRY_MS = 10_000;
/** Statuses of an overloaded server. */
const BUSY = new Set([429, 503]);
/** Statuses that are not caused by the batch itself. */
const SERVER_FAULTS = new Set([401, 403, 404, 408, 409, 424, 502, 504]);
const CONFLICT = 409;

export class RemoteWorker {
  member: RemoteMember;
  isJoined = false;
  /** Whether outputs can stay on it, and it can read those of others. */
  keepsTensors = false;
  readonly #options: RemoteWorkerOptions;
  readonly #listener: RemoteWorkerListener;
  /** Names of the models on the server by variant. */
  readonly #nameByVariant = new Map<number, string>();
  readonly #batches = new Set<OpenBatch>();
  readonly #seenKinds = new Set<string>();
  readonly #statedHops: StatedHops;
  #cores: number;
  #timer: NodeJS.Timeout | undefined;
  /** Number of readiness checks; only the last one counts. */
  #looks = 0;
  /** Duration of the last check of a ready worker. */
  #lookMs = 0;
  #missed = 0;
  /** Consecutive failed attempts to join. */
  #failures = 0;
  /** Consecutive assignments that failed. */
  #failedAssignments = 0;
  /** Lease with which it was rejected; no new attempt until the lease changes. */
  #fencedLease: string | null = null;
  #isClosed = false;

  constructor(member: RemoteMember, options: RemoteWorkerOptions, listener: RemoteWorkerListener) {
    this.member = member;
    this.#options = options;
    this.#listener = listener;
    this.#cores = options.threads;
    this.#statedHops = new StatedHops(options.hops, options.connection);
  }

  /** Tries to join once, and continues until closed. */
  async begin(): Promise<Error | null> {
    const error = await this.#join();
    this.#watch(error);
    return error;
  }

  /** @throws WorkerLostError, InferenceError, RowsRefusedError as `Executor.run`. */
  run(slot: number, batch: Batch, onComputed?: OnComputed): Promise<BatchResult> {
    const model = this.#nameByVariant.get(batch.variant);
    const variant = this.#options.variants[batch.variant];
    assert(variant !== undefined, "a batch is of a variant that there is");
    if (!this.isJoined || model === undefined) {
      return Promise.reject(new WorkerLostError(slot, `${this.member.url} is not ready`));
    }
    return new Promise((resolve, reject) => {
      const timed = this.#timed(batch);
      const timer = new BatchTimer(this.#options.pace, timed, (limitMs) => {
        this.#options.pace.onHung(timed);
        this.#lose(`no answer within ${Math.round(limitMs)} ms`, "hung");
      });
      const own: OpenBatch = { slot, timer, open: null, retry: undefined, reject };
      this.#batches.add(own);
      const ask = { model, variant, batch, timed, onComputed };
      try {
        this.#send(own, { ...ask, inputs: sentTensors(variant, batch) }, resolve);
      } catch (error) {
        this.#end(own);
        reject(new InferenceError(variant.name, oneLine(error)));
      }
    });
  }

  /**
   * Makes the worker hold these variants in addition to others.
   * @returns the number of models it had to load. @throws Error if it cannot.
   */
  async hold(variants: readonly number[], cores: number): Promise<number> {
    const isAnew = cores !== this.#cores;
    let loads = 0;
    for (const index of variants) {
      if (!isAnew && this.#nameByVariant.has(index)) continue;
      const isLoaded = await this.#holdOne(index, { cores, isAnew, lease: this.member.lease });
      if (isLoaded) loads++;
    }
    this.#cores = cores;
    this.#failedAssignments = 0;
    return loads;
  }

  /** Makes the worker unload a variant, if it supports that. */
  async forget(variant: number): Promise<void> {
    const name = this.#nameByVariant.get(variant);
    this.#nameByVariant.delete(variant);
    if (name === undefined) return;
    await this.#options.connection.change(name, "unload", {}, this.member.lease);
  }

  /** Treats the worker as lost: its batches are rejected, and it must become ready again. */
  giveUp(reason: string): void {
    if (!this.isJoined) return;
    this.#lose(reason, "ended");
    this.#failedAssignments++;
    this.#lookIn(retryDelayMs(this.#failedAssignments, this.#options.limits));
  }

  /** Treats the worker as lost because it fails batches that others run. */
  retire(reason: string): void {
    this.#lose(reason, "failing");
  }

  /** @param reason with which its batches are rejected. */
  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#rejectAll(reason);
    this.isJoined = false;
    this.#statedHops.close();
    this.#options.hops.forget(this.member.name);
    this.#options.connection.close();
  }

  #send(own: OpenBatch, asked: Asked, resolve: (result: BatchResult) => void): void {
    const { batch, variant, onComputed } = asked;
    const sentMs = performance.now();
    const open = this.#options.connection.infer(
      {
        model: asked.model,
        id: nextBatchId(this.#options.frontEnd),
        inputs: asked.inputs,
        outputs: variant.outputs,
        ...(batch.stays === undefined ? {} : { stays: batch.stays }),
        lease: this.member.lease,
        timeLeftMs: own.timer.leftMs(),
      },
      (ranMs) => {
        if (this.#batches.has(own)) onComputed?.(ranMs);
      },
    );
    own.open = open;
    open.answer.then(
      (answer) => {
        // The batch was abandoned: drop the answer.
        if (!this.#batches.has(own)) return;
        const tookMs = performance.now() - sentMs;
        own.timer.onAnswered();
        this.#end(own);
        this.#missed = 0;
        const mistake = answerMistake(variant, batch, answer);
        if (mistake !== null) own.reject(new InferenceError(variant.name, mistake));
        else resolve(this.#resultOf(answer, tookMs, asked.model));
      },
      (error: unknown) => this.#onRefused(own, asked, resolve, error),
    );
  }

  #onRefused(
    own: OpenBatch,
    asked: Asked,
    resolve: (result: BatchResult) => void,
    error: unknown,
  ): void {
    if (!this.#batches.has(own)) return;
    const words = oneLine(error);
    if (!(error instanceof ServerRefusal) || SERVER_FAULTS.has(error.status)) {
      if (error instanceof ServerRefusal && error.status === CONFLICT) this.#onConflict(words);
      this.#lose(words, "ended");
    } else if (BUSY.has(error.status)) {
      // The batch has not run: retry until its time is over.
      const again = () => this.#send(own, asked, resolve);
      own.retry = setTimeout(again, this.#options.limits.busyRetryMs);
    } else {
      const { batch, variant } = asked;
      this.#end(own);
      const message = `${this.member.url}: ${words}`;
      const rows = error.rows?.filter((row) => row < batch.rows) ?? [];
      if (rows.length > 0) own.reject(new RowsRefusedError(variant.name, message, rows));
      else own.reject(new InferenceError(variant.name, message, error.status === 400));
    }
  }

  /** A conflict that is not about a repeated batch means that another front end has the lease. */
  #onConflict(words: string): void {
    if (!/\balready\b/.test(words)) this.#fencedLease = this.member.lease;
  }

  #end(own: OpenBatch): void {
    clearTimeout(own.retry);
    own.timer.end();
    this.#batches.delete(own);
  }

  #resultOf({ outputs, wallMs, cpuMs }: BatchAnswer, tookMs: number, model: string): BatchResult {
    const { name, pool, url } = this.member;
    if (wallMs === null) this.#statedHops.onAnswered(model, tookMs);
    else this.#options.hops.note(name, pool, Math.max(0, tookMs - wallMs));
    const given = outputs.map(({ shape, bytes, key }) => {
      return key === undefined ? { shape, bytes } : { shape, bytes, stayed: { url, key, shape } };
    });
    return { outputs: given, wallMs: wallMs ?? tookMs, cpuMs: cpuMs ?? 0, cores: this.#cores };
  }

  #timed({ variant, rows, bucket = 0, p99Ms }: Batch): TimedBatch {
    // Its device is unknown, so the first batch of each shape may have to compile kernels.
    const kind = `${variant} ${rows} ${bucket}`;
    const isFirstOfKind = !this.#seenKinds.has(kind);
    if (isFirstOfKind) this.#seenKinds.add(kind);
    return { variant, p99Ms, isFirstOfKind };
  }

  /** @returns why it is not ready; null if it is. */
  async #join(): Promise<Error | null> {
    const { connection, limits, ownVariants } = this.#options;
    if (this.#fencedLease !== null && this.member.lease === this.#fencedLease) {
      return new Error(`its lease ${this.#fencedLease} is no longer valid`);
    }
    try {
      await connection.expectReady(limits.heartbeatAnswerMs);
      this.keepsTensors = await connection.keepsTensors();
      for (const index of ownVariants) {
        await this.#holdOne(index, { cores: null, isAnew: false, lease: this.member.lease });
      }
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
    if (this.#isClosed) return new Error("it was closed");
    this.#missed = 0;
    this.#failures = 0;
    this.#fencedLease = null;
    this.isJoined = true;
    this.#listener.onJoined(this);
    return null;
  }

  async #holdOne(index: number, holding: Holding): Promise<boolean> {
    const variant = this.#options.variants[index];
    assert(variant !== undefined, "a worker is assigned variants that there are");
    const { name, isLoaded } = await heldModel(this.#options.connection, variant, holding);
    this.#nameByVariant.set(index, name);
    return isLoaded;
  }

  /** @param error of the last check; null if ready. */
  #watch(error: Error | null): void {
    if (this.#isClosed) return;
    const { limits } = this.#options;
    // Measured from check to check, so that a silent worker is lost after three intervals.
    let waitMs = Math.max(0, limits.heartbeatMs - this.#lookMs);
    if (!this.isJoined && error !== null) {
      this.#failures++;
      const growing = limits.backoffMs * 2 ** Math.min(8, this.#failures - 1);
      const isMistake = error instanceof RemoteMistake;
      waitMs = isMistake ? MISTAKE_RETRY_MS : Math.min(limits.heartbeatMs, growing);
      this.#listener.onUnusable(this, error, waitMs);
    }
    this.#lookIn(waitMs);
  }

  #lookIn(waitMs: number): void {
    const look = this.#looks + 1;
    this.#looks = look;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.#look().then((found) => {
        // The worker may have been lost meanwhile, which started checks of its own.
        if (this.#looks === look) this.#watch(found);
      });
    }, waitMs).unref();
  }

  async #look(): Promise<Error | null> {
    if (!this.isJoined) return this.#join();
    const { connection, limits } = this.#options;
    const beganMs = performance.now();
    try {
      await connection.expectReady(limits.heartbeatAnswerMs);
      this.#missed = 0;
      void this.#statedHops.look(this.member, performance.now(), limits.statisticsMs);
      return null;
    } catch (error) {
      this.#missed++;
      const found = `${limits.missedHeartbeats} heartbeats in a row failed: ${oneLine(error)}`;
      if (this.#missed >= limits.missedHeartbeats) this.#lose(found, "ended");
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#lookMs = performance.now() - beganMs;
    }
  }

  #lose(reason: string, cause: LossCause): void {
    if (!this.isJoined || this.#isClosed) return;
    this.isJoined = false;
    this.#rejectAll(reason);
    this.#nameByVariant.clear();
    setImmediate(() => {
      if (!this.#isClosed) this.#listener.onLost(this, reason, cause);
    });
    // The worker may recover at once, as after a batch that crashed its model.
    this.#lookIn(this.#options.limits.backoffMs);
  }

  #rejectAll(reason: string): void {
    for (const own of [...this.#batches]) {
      this.#end(own);
      own.reject(new WorkerLostError(own.slot, `${this.member.url}: ${reason}`));
      own.open?.abort("the batch was aborted");
    }
  }
}

interface Asked {
  readonly model: string;
  readonly variant: VariantModel;
  readonly batch: Batch;
  readonly inputs: ReturnType<typeof sentTensors>;
  readonly onComputed: OnComputed | undefined;
}

function answerMistake(
  variant: VariantModel,
  { rows, stays }: Batch,
  answer: BatchAnswer,
): string | null {
  for (const [index, info] of variant.outputs.entries()) {
    const tensor = answer.outputs[index];
    assert(tensor !== undefined, "an answer has all outputs");
    if (tensor.key !== undefined && stays?.has(index) === true) continue;
    const mistake = tensorMistake(info, tensor, variant.outputsAreRows === false ? null : rows);
    if (mistake !== null) return `output "${info.name}": ${mistake}`;
  }
  return null;
}

/** One worker process as the server sees it: starting, running batches, ending. */
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { assert } from "../../core/assert.ts";
import type { TimedBatch } from "../limits/batch-pace.ts";
import type { WorkerLimits } from "../limits/worker-limits.ts";
import { WorkerPaces } from "../limits/worker-paces.ts";
import {
  type Batch,
  type BatchResult,
  InferenceError,
  type OnComputed,
  WorkerLostError,
} from "../models/executor.ts";
import type { ModelFacts } from "../models/model-facts.ts";
import type { LossCause } from "../models/scaler.ts";
import type { WorkerDevice } from "../models/worker-device.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { removeScratch } from "../onnx/scratch-folder.ts";
import { AssignedLoads, AwaitedLoad, LoadWatch } from "./awaited-load.ts";
import type { Holding } from "./model-store.ts";
import { type HeldOutput, spawnWorker } from "./spawn-worker.ts";
import { OpenBatches, WorkerWatch } from "./worker-batches.ts";
import {
  decodeText,
  FRAME_KINDS,
  type Frame,
  GatheredChunks,
  ranMsOf,
  runFrame,
  WorkerChannel,
} from "./worker-channel.ts";
import { withMemoryLimit, workerMemoryBytes } from "./worker-memory.ts";

/** How far a worker got: healthy ones have shown that their kind works. */
type WorkerPhase = "starting" | "ready" | "healthy";

export interface WorkerListener {
  /** It has loaded a model that it did not hold; called before whatever waits for the model. */
  readonly onFacts?: ((facts: ModelFacts, on: WorkerDevice) => void) | undefined;
  /** Called at most once, before `onEnd`. */
  readonly onReady: (worker: WorkerProcess) => void;
  /**
   * Called once when a ready worker takes no more batches, after its open batches have failed; its
   * process may still exist.
   */
  readonly onLost?: (worker: WorkerProcess, reason: string, cause: LossCause) => void;
  /** Its process has ended. Called once, after `onLost`. */
  readonly onEnd: (worker: WorkerProcess, reason: string) => void;
}

export class WorkerProcess {
  readonly setup: WorkerSetup;
  readonly #limits: WorkerLimits;
  readonly #paces: WorkerPaces;
  readonly #listener: WorkerListener;
  /** Its limit; null for none. */
  readonly #memoryBytes: number | null;
  readonly pid: number | undefined;
  readonly #end: ProcessEnd;
  readonly #channel: WorkerChannel | null;
  /** Output of the worker while its device is tried. */
  readonly #printed: HeldOutput | null;
  /** Folders that it may have made. */
  readonly #scratch: readonly string[];
  readonly #batches: OpenBatches;
  readonly #starting: AwaitedLoad;
  readonly #assigned: AssignedLoads;
  /** Steps of its start and of its assignments. */
  readonly #steps: LoadWatch;
  #readyMs: number | null = null;
  #hasAnswered = false;
  readonly #watch: WorkerWatch;
  /** Chunks of the batch that it computes: the worker has read them before it answers. */
  readonly #gathered = new GatheredChunks();
  readonly #startMs = performance.now();
  /** Kinds of batches that an accelerator has seen. */
  readonly #seenKinds = new Set<string>();
  #cause: LossCause = "ended";
  #isToldLost = false;
  /** Why it ended or will, if known; otherwise the exit status gives the reason. */
  #reason: string | null = null;

  /**
   * @throws Error if the operating system refuses another process at once; later refusals end the
   * worker.
   */
  constructor(
    setup: WorkerSetup,
    limits: WorkerLimits,
    listener: WorkerListener,
    paces = new WorkerPaces(limits),
  ) {
    this.setup = setup;
    this.#limits = limits;
    this.#paces = paces;
    this.#listener = listener;
    this.#memoryBytes = limits.memoryBytes ?? workerMemoryBytes(setup);
    this.#batches = new OpenBatches(this.#memoryBytes);
    this.#steps = new LoadWatch(setup, limits, (reason) => this.#abort(reason));
    const { child, socket, printed, firstMessage, scratch } = spawnWorker(setup, this.#memoryBytes);
    this.pid = child.pid;
    this.#watch = this.#watched();
    this.#printed = printed;
    this.#scratch = scratch;
    this.#end = new ProcessEnd(child, (reason) => this.#onEnd(reason));
    const isOnGpu = setup.on.provider !== "cpu";
    this.#starting = new AwaitedLoad({
      ...{ pace: paces.starts, isOnGpu },
      onLate: (limitMs) => this.#abort(`not ready within ${limitMs} ms`),
    });
    this.#assigned = new AssignedLoads({
      ...{ pace: paces.loads, isOnGpu },
      onLate: (limitMs) => this.#abort(`models not loaded within ${limitMs} ms`, "hung"),
    });
    this.#channel = socket === null ? null : this.#open(socket);
    this.#channel?.sendText(FRAME_KINDS.load, JSON.stringify(firstMessage));
  }

  get phase(): WorkerPhase {
    if (this.#readyMs === null) return "starting";
    const ageMs = performance.now() - this.#readyMs;
    return this.#hasAnswered || ageMs >= this.#limits.healthyAfterMs ? "healthy" : "ready";
  }

  /** From its start until it was ready, ms; NaN before. */
  get startMs(): number {
    return this.#readyMs === null ? Number.NaN : this.#readyMs - this.#startMs;
  }

  /** Whether it has not answered lately, though it was idle. */
  get isSilent(): boolean {
    return this.#watch.isSilent;
  }

  /** Whether it may still answer. */
  get isOpen(): boolean {
    return this.#openChannel !== null;
  }

  /**
   * Runs a batch on behalf of a worker slot; the worker must not be computing another.
   * @param cores a count for which it holds sessions. @param onComputed as in `Executor.run`.
   */
  async run(
    slot: number,
    batch: Batch,
    cores = this.setup.threads,
    onComputed?: OnComputed,
  ): Promise<BatchResult> {
    const isIdle = this.#readyMs !== null && !this.#batches.isComputing;
    assert(isIdle, "a batch goes to a worker that computes none");
    const channel = this.#openChannel;
    if (channel === null) throw new WorkerLostError(slot, this.#reason ?? "it has ended");
    const variant = this.setup.variants[batch.variant]?.name;
    assert(variant !== undefined, "a batch names a variant that was loaded");
    const chunks = frameOf(variant, batch, cores);
    return new Promise((resolve, reject) => {
      this.#batches.start({ slot, variant, onComputed, resolve, reject });
      this.#watch.start(this.#timedBatch(batch, cores));
      channel.send(this.#gathered.gather(chunks));
    });
  }

  /**
   * Assigns variants to the worker, with sessions for their warm core counts and the given ones,
   * after the batch that it may be running.
   * @returns how many variants it had to load. @throws Error if it ended first.
   */
  assign(holding: Holding): Promise<number> {
    assert(this.#readyMs !== null, "a worker is assigned models once it is ready");
    const channel = this.#openChannel;
    if (channel === null) return Promise.reject(new Error(this.#reason ?? "it has ended"));
    channel.sendText(FRAME_KINDS.assign, JSON.stringify(holding));
    return this.#assigned.add();
  }

  /** Kills a ready worker because it fails batches that others run. */
  retire(reason: string): void {
    if (this.#readyMs !== null && this.#openChannel !== null) this.#abort(reason, "failing");
  }

  /**
   * Ends the process: at once if it is still starting, otherwise by closing its channel, and by
   * force if that does not help.
   */
  async end(reason: string): Promise<void> {
    this.#cutOff(reason);
    if (this.#readyMs === null) this.#end.kill();
    else this.#end.killLater();
    await this.#end.ended;
  }

  get #openChannel(): WorkerChannel | null {
    return this.#end.hasEnded || this.#reason !== null ? null : this.#channel;
  }

  #open(socket: Socket): WorkerChannel {
    return new WorkerChannel(socket, {
      onHead: (kind, start) => this.#onHead(kind, start),
      onFrame: (frame) => this.#onFrame(frame),
      onMistake: (reason) => this.#abort(reason),
      onClose: () => {
        if (this.#reason === null) this.#end.kill();
      },
    });
  }

  /** A result begins: the worker has computed the batch. */
  #onHead(kind: number, start: Uint8Array<ArrayBuffer>): void {
    if (kind !== FRAME_KINDS.result) return;
    this.#batches.onAnswerHead(ranMsOf(start));
    this.#watch.onComputed();
  }

  #onFrame(frame: Frame): void {
    if (frame.kind === FRAME_KINDS.failed) {
      this.#abort(withMemoryLimit(decodeText(frame.payload), this.#memoryBytes));
    } else if (frame.kind === FRAME_KINDS.loading) {
      const stepMs = this.#steps.onStep(JSON.parse(decodeText(frame.payload)));
      (this.#readyMs === null ? this.#starting : this.#assigned).onStep(stepMs);
    } else if (frame.kind === FRAME_KINDS.facts) {
      const facts: ModelFacts = JSON.parse(decodeText(frame.payload));
      queueMicrotask(() => this.#listener.onFacts?.(facts, this.setup.on));
    } else if (frame.kind === FRAME_KINDS.ready && this.#readyMs === null) {
      this.#readyMs = performance.now();
      this.#printed?.letThrough();
      this.#steps.end();
      this.#starting.done();
      this.#watch.begin();
      // Apart from the frame, so that a mistake of the listener is not taken for one of the worker.
      queueMicrotask(() => this.#listener.onReady(this));
    } else if (frame.kind === FRAME_KINDS.assigned) {
      this.#steps.end();
      this.#watch.onLoaded();
      this.#assigned.onDone(Number(decodeText(frame.payload)));
    } else if (frame.kind === FRAME_KINDS.pong) {
      this.#watch.onPong();
    } else {
      this.#batches.settle(frame);
      this.#hasAnswered = true;
      this.#watch.onAnswered();
    }
  }

  #timedBatch({ variant, rows, bucket = 0, p99Ms }: Batch, cores: number): TimedBatch {
    if (this.setup.on.provider === "cpu") return { variant, p99Ms, isFirstOfKind: false };
    const kind = `${variant} ${rows} ${bucket} ${cores}`;
    const isFirstOfKind = !this.#seenKinds.has(kind);
    if (isFirstOfKind) this.#seenKinds.add(kind);
    return { variant, p99Ms, isFirstOfKind };
  }

  #watched(): WorkerWatch {
    return new WorkerWatch(this.#limits, this.#paces.batches, {
      pid: this.pid,
      isLoading: () => this.#assigned.isOpen,
      ping: () => this.#openChannel?.sendText(FRAME_KINDS.ping, ""),
      onHung: (reason) => this.#abort(reason, "hung"),
    });
  }

  /** Gives up on a worker that cannot start, is silent, or does not keep to the protocol. */
  #abort(reason: string, cause: LossCause = "ended"): void {
    if (this.#reason === null) this.#cause = cause;
    this.#cutOff(reason);
    this.#end.kill();
    setImmediate(() => this.#reportLost());
  }

  #reportLost(): void {
    if (this.#isToldLost || this.#readyMs === null) return;
    this.#isToldLost = true;
    this.#listener.onLost?.(this, this.#reason ?? "", this.#cause);
  }

  #cutOff(reason: string): void {
    this.#reason ??= reason;
    this.#rejectAll(this.#reason);
    this.#channel?.close();
  }

  #onEnd(reason: string): void {
    // The output is all that a crashed driver leaves.
    if (this.#reason === null) this.#printed?.letThrough();
    this.#printed?.close();
    this.#watch.end();
    this.#steps.end();
    removeScratch(this.#scratch);
    this.#reason ??= withMemoryLimit(reason, this.#memoryBytes);
    const finalReason = this.#reason;
    this.#rejectAll(finalReason);
    // Promise callbacks run before it, so callers that await the batch know its fate before the
    // slot is refilled.
    setImmediate(() => {
      this.#reportLost();
      this.#listener.onEnd(this, finalReason);
    });
  }

  /** Rejects everything that is awaited, except its end. */
  #rejectAll(reason: string): void {
    this.#starting.end();
    this.#watch.forget();
    this.#batches.reject(reason);
    this.#assigned.reject(reason);
  }
}

/** @throws InferenceError if the batch is larger than a frame. */
function frameOf(variant: string, batch: Batch, cores: number): Uint8Array[] {
  try {
    return runFrame(batch, cores);
  } catch (error) {
    if (error instanceof RangeError) throw new InferenceError(variant, error.message);
    throw error;
  }
}

/** Time for the open batch of a worker that was asked to end. */
const END_GRACE_MS = 1000;
/**
 * Time that a killed process has to go. A process stuck in a driver never goes, so the wait must
 * have an end.
 */
const KILL_GRACE_MS = 5000;

export class ProcessEnd {
  /** Kept when the process has ended, after `onEnd`. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;
  #end = (_reason: string): void => {};

  /** @param onEnd called once. */
  constructor(child: ChildProcess, onEnd: (reason: string) => void) {
    this.#child = child;
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        if (this.#hasEnded) return;
        this.#hasEnded = true;
        clearTimeout(this.#timer);
        onEnd(reason);
        resolve();
      };
    });
    child.once("error", (error) => this.#end(error.message));
    // Unlike "exit", "close" follows the worker's last message: a result, or why it could not
    // start.
    child.once("close", (code, signal) =>
      this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`),
    );
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Kills the process if it does not end by itself soon. */
  killLater(): void {
    this.#wait(END_GRACE_MS, () => this.kill());
  }

  kill(): void {
    this.#child.kill("SIGKILL");
    this.#wait(KILL_GRACE_MS, () => {
      this.#child.unref();
      this.#end("it survived being killed");
    });
  }

  #wait(limitMs: number, onExpiry: () => void): void {
    clearTimeout(this.#timer);
    if (!this.#hasEnded) this.#timer = setTimeout(onExpiry, limitMs).unref();
  }
}

/** One worker process as the server sees it: starting, running batches, ending. */
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { assert } from "../core/assert.ts";
import { deviceEnvironment } from "../devices/device-environment.ts";
import type { TimedBatch } from "./batch-pace.ts";
import { type Batch, type BatchResult, InferenceError, WorkerLostError } from "./executor.ts";
import { decodeText, FRAME_KINDS, type Frame, runFrame, textFrame } from "./frame-protocol.ts";
import { FrameReader } from "./frame-reader.ts";
import { GatheredChunks } from "./gathered-chunks.ts";
import { HeldOutput } from "./held-output.ts";
import { inheritanceOf } from "./inherited-models.ts";
import { type LoadPace, OpenLimit } from "./load-pace.ts";
import { LoadWatch } from "./load-watch.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { Holding } from "./model-store.ts";
import { OpenBatches } from "./open-batches.ts";
import type { WorkerDevice } from "./worker-device.ts";
import type { WorkerLimits } from "./worker-limits.ts";
import { withMemoryLimit, workerMemoryBytes } from "./worker-memory.ts";
import { WorkerPaces } from "./worker-paces.ts";
import type { WorkerSetup } from "./worker-setup.ts";
import { spawnLimited } from "./worker-spawn.ts";
import { WorkerWatch } from "./worker-watch.ts";

const WORKER_PATH = fileURLToPath(new URL("./worker.js", import.meta.url));
const CHANNEL = 3;
/**
 * Standard input closed, standard output to our standard error (what a library prints is no output
 * of ours), then the channel.
 */
const STDIO = ["ignore", 2, 2, "pipe"] as const;
/** Of one whose device is tried: what it prints is held back. */
const TRIED_STDIO = ["ignore", 2, "pipe", "pipe"] as const;
/** Time a worker that was told to end has for its batch. */
const END_GRACE_MS = 1000;
/**
 * Time one that was killed has to go. What is stuck in a driver stays for good, and nobody is to
 * wait for it.
 */
const KILL_GRACE_MS = 5000;

/** How far a worker got: healthy ones have shown that their kind works. */
export type WorkerPhase = "starting" | "ready" | "healthy";

export interface WorkerListener {
  /** It has loaded a model that it did not hold; called before whatever waits for the model. */
  readonly onFacts?: ((facts: ModelFacts, on: WorkerDevice) => void) | undefined;
  /** Called at most once, before `onEnd`. */
  readonly onReady: (worker: WorkerProcess) => void;
  /**
   * It was ready and takes no batches any more: called once, after those who wait for a batch have
   * seen it fail, and as soon as it is given up; its process may still be there.
   */
  readonly onLost?: (worker: WorkerProcess, reason: string, isHung: boolean) => void;
  /** Its process has ended. Called once, after `onLost`. */
  readonly onEnd: (worker: WorkerProcess, reason: string) => void;
}

interface Assignment {
  readonly sinceMs: number;
  readonly limit: OpenLimit;
  readonly resolve: (loads: number) => void;
  readonly reject: (error: Error) => void;
}

export class WorkerProcess {
  readonly setup: WorkerSetup;
  readonly #limits: WorkerLimits;
  readonly #paces: WorkerPaces;
  readonly #listener: WorkerListener;
  /** Its limit; null for none. */
  readonly #memoryBytes: number | null;
  readonly #child: ChildProcess;
  readonly #channel: Socket | null;
  /** What it prints, where its device is tried. */
  readonly #printed: HeldOutput | null;
  readonly #ended: Promise<void>;
  #settleEnded = (): void => {};
  readonly #batches: OpenBatches;
  /** Assignments that are not answered, oldest first. */
  readonly #assignments: Assignment[] = [];
  readonly #loads: LoadWatch;
  readonly #startLimit: OpenLimit;
  #readyMs: number | null = null;
  #hasAnswered = false;
  /** For what is awaited of the process: that it gets ready, loads, ends. */
  #timer: NodeJS.Timeout | undefined;
  readonly #watch: WorkerWatch;
  /** Of the batch that it computes: the worker has read it before it answers. */
  readonly #gathered = new GatheredChunks();
  readonly #startMs = performance.now();
  /** Kinds of batches that an accelerator has seen. */
  readonly #seenKinds = new Set<string>();
  #isHung = false;
  #isToldLost = false;
  /** Why it ended or will, as far as it is known; the exit status says it otherwise. */
  #reason: string | null = null;
  #hasEnded = false;

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
    this.#watch = this.#watched();
    this.#ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
    const { fds, setup: told } = inheritanceOf(setup, STDIO.length);
    this.#loads = new LoadWatch(setup, limits, (reason) => this.#abort(reason));
    this.#memoryBytes = limits.memoryBytes ?? workerMemoryBytes(setup);
    this.#batches = new OpenBatches(this.#memoryBytes);
    const own = setup.trying ? TRIED_STDIO : STDIO;
    const [memoryBytes, stdio] = [this.#memoryBytes, [...own, ...fds]];
    const env = deviceEnvironment(setup.on);
    this.#child = spawnLimited(WORKER_PATH, { memoryBytes, stdio, env });
    const { stderr } = this.#child;
    this.#printed = stderr === null ? null : new HeldOutput(stderr);
    this.#child.once("error", (error) => this.#end(error.message));
    // Unlike "exit" it waits for what the worker wrote last: its result, or why it could not start.
    this.#child.once("close", (code, signal) =>
      this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`),
    );
    this.#startLimit = this.#limitOf(paces.starts);
    this.#wait(this.#startLimit.limitMs, () => this.#onStartTimeout());
    const channel = this.#child.stdio?.[CHANNEL];
    this.#channel = channel instanceof Socket ? channel : null;
    if (this.#channel !== null) this.#open(this.#channel, told);
  }

  get pid(): number | undefined {
    return this.#child.pid;
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

  /** Whether it has not answered lately, though it had nothing to do. */
  get isSilent(): boolean {
    return this.#watch.isSilent;
  }

  /** Whether it may still answer, as far as is known. */
  get isOpen(): boolean {
    return this.#channel !== null && !this.#hasEnded && this.#reason === null;
  }

  /**
   * Runs a batch on behalf of a worker slot; the worker must not be computing another.
   * @param cores for which it holds sessions. @param onComputed as `Executor.run`.
   */
  async run(
    slot: number,
    batch: Batch,
    cores = this.setup.threads,
    onComputed?: () => void,
  ): Promise<BatchResult> {
    const isIdle = this.#readyMs !== null && !this.#batches.isComputing;
    assert(isIdle, "a batch goes to a worker that computes none");
    const channel = this.#channel;
    if (channel === null || this.#hasEnded || this.#reason !== null) {
      throw new WorkerLostError(slot, this.#reason ?? "it has ended");
    }
    const variant = this.setup.variants[batch.variant]?.name;
    assert(variant !== undefined, "a batch names a variant that was loaded");
    const chunks = frameOf(variant, batch, cores);
    return new Promise((resolve, reject) => {
      this.#batches.start({ slot, variant, onComputed, resolve, reject });
      this.#watch.start(this.#timedBatch(batch, cores));
      write(channel, this.#gathered.gather(chunks));
    });
  }

  /**
   * Has the worker hold these variants, with sessions for their warm core counts and for those
   * said, after the batch that it may be running.
   * @returns how many variants it had to load. @throws Error if it ended instead.
   */
  assign(holding: Holding): Promise<number> {
    assert(this.#readyMs !== null, "a worker is assigned models once it is ready");
    const channel = this.#channel;
    if (channel === null || this.#hasEnded || this.#reason !== null) {
      return Promise.reject(new Error(this.#reason ?? "it has ended"));
    }
    return new Promise((resolve, reject) => {
      const limit = this.#limitOf(this.#paces.loads);
      this.#assignments.push({ sinceMs: performance.now(), limit, resolve, reject });
      this.#wait(limit.limitMs, () => this.#onAssignTimeout());
      write(channel, textFrame(FRAME_KINDS.assign, JSON.stringify(holding)));
    });
  }

  /**
   * Ends the process: at once if it is still starting, else by closing its channel, and by force if
   * that does not help.
   */
  async end(reason: string): Promise<void> {
    this.#cutOff(reason);
    if (this.#readyMs === null) this.#kill();
    else this.#wait(END_GRACE_MS, () => this.#kill());
    await this.#ended;
  }

  #open(channel: Socket, told: WorkerSetup): void {
    const reader = new FrameReader(
      (frame) => this.#onFrame(frame),
      (kind) => this.#onHead(kind),
    );
    channel.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        this.#abort(error instanceof Error ? error.message : String(error));
      }
    });
    // The other end has gone, which its exit explains better.
    channel.on("error", () => {});
    channel.on("close", () => {
      if (this.#reason === null) this.#kill();
    });
    write(channel, textFrame(FRAME_KINDS.load, JSON.stringify(told)));
  }

  /** A result begins: the worker has computed the batch. */
  #onHead(kind: number): void {
    if (kind !== FRAME_KINDS.result) return;
    this.#batches.onAnswerHead();
    this.#watch.onComputed();
  }

  #onFrame(frame: Frame): void {
    if (frame.kind === FRAME_KINDS.failed) {
      this.#abort(withMemoryLimit(decodeText(frame.payload), this.#memoryBytes));
    } else if (frame.kind === FRAME_KINDS.loading) {
      this.#onStep(this.#loads.onStep(JSON.parse(decodeText(frame.payload))));
    } else if (frame.kind === FRAME_KINDS.facts) {
      const facts: ModelFacts = JSON.parse(decodeText(frame.payload));
      queueMicrotask(() => this.#listener.onFacts?.(facts, this.setup.on));
    } else if (frame.kind === FRAME_KINDS.ready && this.#readyMs === null) {
      this.#readyMs = performance.now();
      this.#printed?.letThrough();
      this.#loads.end();
      this.#paces.starts.onDone(this.#readyMs - this.#startMs);
      clearTimeout(this.#timer);
      this.#watch.begin();
      // Apart from the frame, so that a mistake of the listener is not taken for one of the worker.
      queueMicrotask(() => this.#listener.onReady(this));
    } else if (frame.kind === FRAME_KINDS.assigned) {
      const assignment = this.#assignments.shift();
      this.#loads.end();
      assert(assignment !== undefined, "a worker holds other models only when told to");
      this.#paces.loads.onDone(performance.now() - assignment.sinceMs);
      if (this.#assignments.length === 0) clearTimeout(this.#timer);
      this.#watch.onLoaded();
      assignment.resolve(Number(decodeText(frame.payload)));
    } else if (frame.kind === FRAME_KINDS.pong) {
      this.#watch.onPong();
    } else {
      this.#batches.settle(frame);
      this.#hasAnswered = true;
      this.#watch.onAnswered();
    }
  }

  /**
   * Timers run before the channel is read: when the server itself has paused, what it waits for may
   * be there already. So both limits look again after reading.
   */
  #onStartTimeout(): void {
    setImmediate(() => {
      if (this.#readyMs !== null || this.#reason !== null) return;
      const { limitMs } = this.#startLimit;
      const leftMs = this.#startLimit.leftMs(performance.now());
      if (leftMs > 0) {
        this.#wait(leftMs, () => this.#onStartTimeout());
        return;
      }
      this.#paces.starts.onHung();
      this.#abort(`not ready within ${Math.round(limitMs)} ms`);
    });
  }

  #onAssignTimeout(): void {
    setImmediate(() => {
      const [late] = this.#assignments;
      if (late === undefined || this.#reason !== null) return;
      const leftMs = late.limit.leftMs(performance.now());
      if (leftMs > 0) {
        this.#wait(leftMs, () => this.#onAssignTimeout());
        return;
      }
      this.#paces.loads.onHung();
      this.#abort(`models not loaded within ${Math.round(late.limit.limitMs)} ms`, true);
    });
  }

  #limitOf(pace: LoadPace): OpenLimit {
    const isOnGpu = this.setup.on.provider !== "cpu";
    return new OpenLimit(performance.now(), pace.limitMs(), isOnGpu);
  }

  /** What is waited for has gone on. @param stepMs that its next step may take. */
  #onStep(stepMs: number): void {
    const limit = this.#readyMs === null ? this.#startLimit : this.#assignments[0]?.limit;
    // The timer that runs asks it again.
    limit?.onStep(performance.now(), stepMs);
  }

  #timedBatch({ variant, rows, p99Ms }: Batch, cores: number): TimedBatch {
    if (this.setup.on.provider === "cpu") return { variant, p99Ms, isFirstOfKind: false };
    const kind = `${variant} ${rows} ${cores}`;
    const isFirstOfKind = !this.#seenKinds.has(kind);
    if (isFirstOfKind) this.#seenKinds.add(kind);
    return { variant, p99Ms, isFirstOfKind };
  }

  #watched(): WorkerWatch {
    const worker = this;
    return new WorkerWatch(this.#limits, this.#paces.batches, {
      get pid() {
        return worker.pid;
      },
      get isLoading() {
        return worker.#assignments.length > 0;
      },
      ping: () => {
        const channel = this.#channel;
        if (this.isOpen && channel !== null) write(channel, textFrame(FRAME_KINDS.ping, ""));
      },
      onHung: (reason) => this.#abort(reason, true),
    });
  }

  /** Gives up on a worker that cannot start, is silent, or does not keep to the protocol. */
  #abort(reason: string, isHung = false): void {
    if (this.#reason === null) this.#isHung = isHung;
    this.#cutOff(reason);
    this.#kill();
    setImmediate(() => this.#tellLost());
  }

  #tellLost(): void {
    if (this.#isToldLost || this.#readyMs === null) return;
    this.#isToldLost = true;
    this.#listener.onLost?.(this, this.#reason ?? "", this.#isHung);
  }

  #cutOff(reason: string): void {
    this.#reason ??= reason;
    this.#rejectRunning(this.#reason);
    this.#channel?.destroy();
  }

  #kill(): void {
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

  #end(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    // A driver that crashed has left nothing else.
    if (this.#reason === null) this.#printed?.letThrough();
    this.#printed?.close();
    this.#watch.end();
    this.#loads.end();
    this.#reason ??= withMemoryLimit(reason, this.#memoryBytes);
    const finalReason = this.#reason;
    this.#rejectRunning(finalReason);
    // Promise callbacks run before it, so whoever awaits the batch knows its fate before the slot
    // is refilled.
    setImmediate(() => {
      this.#tellLost();
      this.#listener.onEnd(this, finalReason);
    });
    this.#settleEnded();
  }

  #rejectRunning(reason: string): void {
    this.#watch.forget();
    this.#batches.reject(reason);
    for (const { reject } of this.#assignments.splice(0)) reject(new Error(reason));
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

/** One system call for all chunks, none of them copied. */
function write(channel: Socket, chunks: readonly Uint8Array[]): void {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) {
    channel.write(only);
    return;
  }
  channel.cork();
  for (const chunk of chunks) channel.write(chunk);
  channel.uncork();
}

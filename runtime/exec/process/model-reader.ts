/**
 * Reads and probes models in a process of its own, under limits of memory and time: a model may ask
 * for any amount of both, which must not affect the compiler.
 */
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { totalmem } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openRegular } from "../../base/regular-file.ts";
import type { ModelFile } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import { MAX_MODEL_BYTES, wholeBytesAt } from "../files/whole-model.ts";
import { entryOf, type HostSource, type ProbedHost } from "../modules/host-source.ts";
import type { DescribedModel } from "../onnx/model-file.ts";
import type { ProbedTensors, ProbeOptions } from "../tensors/probe-tensors.ts";
import type { ModelRequest, ProbeAnswer } from "./model-reader-process.ts";
import {
  decodeText,
  FRAME_KINDS,
  type Frame,
  FrameReader,
  runFrame,
  textFrame,
} from "./worker-channel.ts";
import { withMemoryLimit } from "./worker-memory.ts";
import { spawnLimited } from "./worker-spawn.ts";

export interface ModelLimits {
  /**
   * Memory of the process; null for the most of 4 GiB, a quarter of the machine, and the file's
   * need.
   */
  readonly memoryBytes: number | null;
  /** For each model; large files get a second more for each 10 MB. */
  readonly timeoutMs: number;
}

const GIB = 2 ** 30;
/** Time for one model, beside a second for each 10 MB of its file. */
const TIMEOUT_MS = 60_000;
const LEAST_BYTES = 4 * GIB;
/** Copies of a model's file while a session is made from it, as for workers. */
const COPIES = 6;
const FILE_BYTES_PER_MS = 10_000;
const PROCESS_PATH = fileURLToPath(new URL("./model-reader-process.js", import.meta.url));
const CHANNEL = 3;

type Probed = readonly ProbedTensors[] | null;

interface Running {
  readonly child: ChildProcess;
  readonly channel: Socket;
  readonly memoryBytes: number;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One model at a time; the process starts with the first one. Close it. */
export class ModelReader {
  readonly #limits: ModelLimits;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#fail(this.#signal.reason);
  #running: Running | null = null;
  #waiting: Waiting | null = null;

  constructor(signal: AbortSignal, limits: Partial<ModelLimits> = {}) {
    this.#signal = signal;
    this.#limits = { memoryBytes: null, timeoutMs: TIMEOUT_MS, ...limits };
    signal.addEventListener("abort", this.#onAbort);
  }

  /**
   * Describes a model file.
   * @throws Error if it is not a readable model, or goes beyond a limit; the signal's reason.
   */
  async describe(path: string): Promise<DescribedModel> {
    const bytes = await sizeOf(path);
    const request: ModelRequest = { kind: "describe", path: resolve(path) };
    return (await this.#ask(request, bytes, [])) as DescribedModel;
  }

  /** Probes a model in a file; otherwise like `probe`. */
  async probeFile(path: string, options: ProbeOptions): Promise<Probed> {
    return this.#probe(resolve(path), await sizeOf(path), [], options);
  }

  /**
   * Reads the bundle's record of a task that is not an ONNX file, and its samples.
   * @throws Error if it cannot be opened or read, or beyond a limit; the signal's reason.
   */
  async readHost(source: HostSource): Promise<ModelFile> {
    const { timeoutMs } = this.#limits;
    const request: ModelRequest = { kind: "read-host", source, timeoutMs };
    return (await this.#ask(request, await this.#bytesOf(source), [])) as ModelFile;
  }

  /**
   * Returns the bytes of every input of a module for a batch; null if it has no samples.
   * @throws Error as `readHost`, or if they do not match its declaration.
   */
  async sample(source: HostSource, rows: number, seed: number): Promise<Uint8Array[] | null> {
    const request: ModelRequest = { kind: "sample", source, rows, seed };
    const answer = await this.#ask(request, await this.#bytesOf(source), []);
    return (answer as string[] | null)?.map((text) => Buffer.from(text, "base64")) ?? null;
  }

  /** Runs a module on its samples, as `probeHost`. */
  async probeHost(source: HostSource, rows: number): Promise<ProbedHost | null> {
    const request: ModelRequest = { kind: "probe-host", source, rows };
    return (await this.#ask(request, await this.#bytesOf(source), [])) as ProbedHost | null;
  }

  /**
   * Probes the tensors of a model, as `probeTensors`.
   * @throws Error as `probeTensors` does, or beyond a limit; the signal's reason.
   */
  readonly probe = (model: Uint8Array, options: ProbeOptions): Promise<Probed> => {
    return this.#probe(null, model.length, [model], options);
  };

  /** Ends the process. */
  close(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#end();
  }

  async #bytesOf(source: HostSource): Promise<number> {
    return source.kind === "module" ? sizeOf(entryOf(source)) : 0;
  }

  async #probe(
    path: string | null,
    modelBytes: number,
    first: readonly Uint8Array[],
    { runs, dtypes }: ProbeOptions,
  ): Promise<Probed> {
    const request: ModelRequest = {
      kind: "probe",
      path,
      dtypes: [...dtypes],
      runs: runs.map(({ inputs, mayBeRefused }) => {
        const infos = inputs.map(({ name, dtype, shape }) => ({ name, dtype, shape }));
        return { mayBeRefused, inputs: infos };
      }),
    };
    const parts = [...first, ...runs.flatMap(({ inputs }) => inputs.map(({ bytes }) => bytes))];
    const answer = (await this.#ask(request, modelBytes, parts)) as ProbeAnswer;
    return answer?.map((tensors) => new Map(tensors)) ?? null;
  }

  async #ask(
    request: ModelRequest,
    fileBytes: number,
    parts: readonly Uint8Array[],
  ): Promise<unknown> {
    this.#signal.throwIfAborted();
    assert(this.#waiting === null, "one model is read at a time");
    const { channel, memoryBytes } = this.#processFor(fileBytes);
    const limitMs = Math.round(this.#limits.timeoutMs + fileBytes / FILE_BYTES_PER_MS);
    const timer = setTimeout(() => {
      const limit = `took more than ${limitMs} ms, the limit for a file of its size`;
      this.#fail(
        new Error(request.kind === "probe" ? `running it ${limit}` : `loading it ${limit}`),
      );
    }, limitMs);
    try {
      return await new Promise((resolveAnswer, reject) => {
        this.#waiting = { resolve: resolveAnswer, reject };
        for (const chunk of textFrame(FRAME_KINDS.load, JSON.stringify(request))) {
          channel.write(chunk);
        }
        if (request.kind !== "probe") return;
        const inputs = parts.map((part) => [part]);
        for (const chunk of runFrame({ variant: 0, rows: 0, inputs }, 0)) channel.write(chunk);
      });
    } catch (error) {
      if (error === this.#signal.reason && this.#signal.aborted) throw error;
      throw new Error(withOwnLimit(error, memoryBytes));
    } finally {
      this.#waiting = null;
      clearTimeout(timer);
    }
  }

  #processFor(fileBytes: number): Running {
    const floor = Math.max(LEAST_BYTES, totalmem() / 4);
    const wanted = this.#limits.memoryBytes ?? Math.max(floor, GIB + COPIES * fileBytes);
    if (this.#running !== null && this.#running.memoryBytes >= wanted) return this.#running;
    this.#end();
    // Standard output carries our own output: output of libraries goes to standard error.
    const stdio = ["ignore", 2, 2, "pipe"] as const;
    const child = spawnLimited(PROCESS_PATH, { memoryBytes: wanted, stdio });
    // A refused process emits its reason, and takes what is written meanwhile.
    const channel = child.pid === undefined ? new Socket() : child.stdio[CHANNEL];
    assert(channel instanceof Socket, "a pipe is a socket");
    const running = { child, channel, memoryBytes: wanted };
    const ended = (reason: string) => {
      if (this.#running === running) this.#fail(new Error(`its process ended with ${reason}`));
    };
    child.once("error", (error) => ended(error.message));
    child.once("close", (code, signal) => ended(signal ? `signal ${signal}` : `code ${code}`));
    channel.on("error", () => {});
    const reader = new FrameReader((frame) => this.#onFrame(frame));
    channel.on("data", (chunk: Buffer) => reader.push(chunk));
    this.#running = running;
    return running;
  }

  #onFrame({ kind, payload }: Frame): void {
    const text = decodeText(payload);
    if (kind === FRAME_KINDS.result) this.#waiting?.resolve(JSON.parse(text));
    else this.#waiting?.reject(new Error(text));
  }

  #fail(reason: Error): void {
    const waiting = this.#waiting;
    this.#end();
    waiting?.reject(reason);
  }

  #end(): void {
    const running = this.#running;
    this.#running = null;
    running?.channel.destroy();
    if (running?.child.pid !== undefined) running.child.kill("SIGKILL");
  }
}

function withOwnLimit(error: unknown, memoryBytes: number): string {
  const reason = error instanceof Error ? error.message : String(error);
  const limited = withMemoryLimit(reason, memoryBytes);
  if (limited === reason) return reason;
  return `${limited}, a quarter of the machine, 4 GiB or what the file may need`;
}

/** @throws Error if it is no regular file that can be opened, or larger than a model can be. */
async function sizeOf(path: string): Promise<number> {
  const { file, size } = await openRegular(path);
  await file.close();
  if (size > MAX_MODEL_BYTES) throw new Error("it is larger than 2 GiB");
  return wholeBytesAt(path);
}

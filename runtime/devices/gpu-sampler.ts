/** Follows what a process of its own sees of the accelerators. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DeviceSample, GpuSample } from "./gpu-sample.ts";
import { modelEnvironment } from "./model-environment.ts";

const PROGRAM = fileURLToPath(new URL("./native/sampler.js", import.meta.url));
const HEAP_MIB = 64;
/** A sample that old says nothing any more: whoever takes them has ended, or hangs. */
const STALE_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const MOST_RETRY_MS = 60_000;

export interface SamplerOptions {
  /** Of those whose memory is told, whenever it is asked. */
  readonly pids: () => readonly number[];
  /** A monotonic clock, ms. */
  readonly nowMs?: () => number;
}

/** Takes samples from its start on; none where nothing can be read. */
export class GpuSampler {
  readonly #pids: () => readonly number[];
  readonly #nowMs: () => number;
  #child: ChildProcess | null = null;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #latest: { readonly sample: DeviceSample; readonly sinceMs: number } | null = null;
  /** Energy of each GPU when it was first seen. */
  readonly #energyBefore = new Map<string, number>();
  #toldPids = "";
  #isClosed = false;

  constructor({ pids, nowMs = () => performance.now() }: SamplerOptions) {
    this.#pids = pids;
    this.#nowMs = nowMs;
    this.#start();
  }

  /** The latest, with the energy since the first; null where there is none, or none lately. */
  get sample(): DeviceSample | null {
    if (this.#latest === null || this.#nowMs() - this.#latest.sinceMs > STALE_MS) return null;
    return this.#latest.sample;
  }

  /** Its process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#child?.kill("SIGKILL");
  }

  #start(): void {
    const args = [`--max-old-space-size=${HEAP_MIB}`, PROGRAM];
    const surroundings = { cwd: "/", env: modelEnvironment() };
    const stdio = ["pipe", "pipe", "ignore"] as const;
    const child = spawn(process.execPath, args, { ...surroundings, stdio: [...stdio] });
    this.#child = child;
    this.#toldPids = "";
    let isOver = false;
    const end = (isDone: boolean) => {
      if (isOver) return;
      isOver = true;
      this.#child = null;
      this.#latest = null;
      if (!isDone) this.#startLater();
    };
    child.once("error", () => end(false));
    // It ends by itself where there is nothing to see.
    child.once("exit", (code) => end(code === 0));
    // It may have ended by the time that it is told something.
    child.stdin?.on("error", () => {});
    // It keeps nobody waiting.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) {
      if (stream !== null && "unref" in stream && typeof stream.unref === "function") {
        stream.unref();
      }
    }
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on("line", (line) => this.#onLine(line));
    this.#tellPids();
  }

  #startLater(): void {
    if (this.#isClosed) return;
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, MOST_RETRY_MS);
    this.#failures++;
    this.#retry = setTimeout(() => this.#start(), waitMs).unref();
  }

  #onLine(line: string): void {
    const told: DeviceSample = JSON.parse(line);
    const gpus = told.gpus.map((gpu) => this.#sinceFirst(gpu));
    this.#latest = { sample: { ...told, gpus }, sinceMs: this.#nowMs() };
    this.#failures = 0;
    this.#tellPids();
  }

  #tellPids(): void {
    const text = JSON.stringify(this.#pids());
    if (text === this.#toldPids) return;
    this.#toldPids = text;
    this.#child?.stdin?.write(`${text}\n`);
  }

  #sinceFirst(gpu: GpuSample): GpuSample {
    if (gpu.energyJoules === null) return gpu;
    const before = this.#energyBefore.get(gpu.uuid);
    // A driver that was loaded again begins at 0.
    const from = before === undefined || gpu.energyJoules < before ? gpu.energyJoules : before;
    this.#energyBefore.set(gpu.uuid, from);
    return { ...gpu, energyJoules: gpu.energyJoules - from };
  }
}

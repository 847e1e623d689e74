/** Starts a worker process, and holds back what it prints while its device is tried. */
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { deviceEnvironment } from "../../devices/device-environment.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { scratchPaths } from "../onnx/scratch-folder.ts";
import { inheritanceOf } from "./inherited-models.ts";
import { spawnLimited } from "./worker-spawn.ts";

const WORKER_PATH = fileURLToPath(new URL("./worker.js", import.meta.url));
const CHANNEL = 3;
/**
 * Standard input closed, standard output to our standard error (output of libraries is not our
 * output), then the channel.
 */
const STDIO = ["ignore", 2, 2, "pipe"] as const;
/** Standard streams of a worker whose device is tried: its output is held back. */
const TRIED_STDIO = ["ignore", 2, "pipe", "pipe"] as const;

interface SpawnedWorker {
  readonly child: ChildProcess;
  /** Null if the operating system refused the process; "error" reports that. */
  readonly socket: Socket | null;
  /** Output of the worker while its device is tried. */
  readonly printed: HeldOutput | null;
  readonly firstMessage: WorkerSetup;
  /** Folders that it may make. */
  readonly scratch: readonly string[];
}

/** @param memoryBytes private memory that it may have; null for no limit. */
export function spawnWorker(setup: WorkerSetup, memoryBytes: number | null): SpawnedWorker {
  const { fds, setup: inherited } = inheritanceOf(setup, STDIO.length);
  const stdio = [...(setup.trying ? TRIED_STDIO : STDIO), ...fds];
  const env = deviceEnvironment(setup.on);
  const child = spawnLimited(WORKER_PATH, { memoryBytes, stdio, env });
  const isRefused = child.pid === undefined;
  const printed = isRefused || child.stderr === null ? null : new HeldOutput(child.stderr);
  const channel = isRefused ? null : child.stdio[CHANNEL];
  const socket = channel instanceof Socket ? channel : null;
  const scratch = setup.on.provider === "cpu" ? [] : scratchPaths();
  return { child, socket, printed, firstMessage: { ...inherited, scratch }, scratch };
}

const MOST_BYTES = 64 * 1024;

export class HeldOutput {
  readonly #source: Readable;
  readonly #sink: Writable;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isOpen = false;

  /** @param sink receives the output once it is let through. */
  constructor(source: Readable, sink: Writable = process.stderr) {
    this.#source = source;
    this.#sink = sink;
    source.on("data", (chunk: Buffer) => this.#onData(chunk));
    source.on("error", () => {});
  }

  /** Passes on what was held and all that follows. */
  letThrough(): void {
    this.#isOpen = true;
    for (const chunk of this.#held) this.#sink.write(chunk);
    this.#held = [];
  }

  /** Stops reading. */
  close(): void {
    this.#source.destroy();
  }

  #onData(chunk: Buffer): void {
    if (this.#isOpen) this.#sink.write(chunk);
    else if (this.#heldBytes < MOST_BYTES) {
      this.#held.push(chunk);
      this.#heldBytes += chunk.length;
    }
  }
}

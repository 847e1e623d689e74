/** The process of a worker: its program, its descriptors, its environment, and what it prints. */
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { deviceEnvironment } from "../../devices/device-environment.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";
import { scratchPaths } from "../onnx/scratch-folder.ts";
import { HeldOutput } from "./held-output.ts";
import { inheritanceOf } from "./inherited-models.ts";
import { spawnLimited } from "./worker-spawn.ts";

const WORKER_PATH = fileURLToPath(new URL("./worker.js", import.meta.url));
const CHANNEL = 3;
/**
 * Standard input closed, standard output to our standard error (what a library prints is no output
 * of ours), then the channel.
 */
const STDIO = ["ignore", 2, 2, "pipe"] as const;
/** Of one whose device is tried: what it prints is held back. */
const TRIED_STDIO = ["ignore", 2, "pipe", "pipe"] as const;

interface SpawnedWorker {
  readonly child: ChildProcess;
  /** Null where the operating system refused the process, which "error" tells. */
  readonly socket: Socket | null;
  /** What it prints, where its device is tried. */
  readonly printed: HeldOutput | null;
  /** What it is to be told first. */
  readonly told: WorkerSetup;
  /** Folders that it may make. */
  readonly scratch: readonly string[];
}

/**
 * @param memoryBytes that it may have of its own; null for no limit.
 * @throws Error if the operating system refuses another process at once.
 */
export function spawnWorker(setup: WorkerSetup, memoryBytes: number | null): SpawnedWorker {
  const { fds, setup: inherited } = inheritanceOf(setup, STDIO.length);
  const stdio = [...(setup.trying ? TRIED_STDIO : STDIO), ...fds];
  const env = deviceEnvironment(setup.on);
  const child = spawnLimited(WORKER_PATH, { memoryBytes, stdio, env });
  const printed = child.stderr === null ? null : new HeldOutput(child.stderr);
  const channel = child.stdio?.[CHANNEL];
  const socket = channel instanceof Socket ? channel : null;
  const scratch = setup.on.provider === "cpu" ? [] : scratchPaths();
  return { child, socket, printed, told: { ...inherited, scratch }, scratch };
}

/** How processes that run models are born: with little of the server, and with limits. */
import { ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { isShortage } from "../../base/errors.ts";
import { modelEnvironment } from "../../devices/model-environment.ts";

/**
 * JavaScript objects are few: tensors and models lie outside of this heap. Memory of a reader can
 * be returned at once.
 */
export const HEAP_MIB = 512;
const NODE_FLAGS = [`--max-old-space-size=${HEAP_MIB}`, "--expose-gc"];

/**
 * Niceness of these processes: where cores are short, the process that accepts and rejects requests
 * does not wait for those that compute.
 */
const STANDS_BACK = 5;

const SHELL = "/bin/sh";
/**
 * `ulimit` counts KiB. A lower limit that is already set stays, and the shell reports it; "no"
 * stands for no limit.
 */
const LIMITED = [
  "umask 077",
  "ulimit -c 0",
  'case "$1" in no) ;; *) ulimit -d "$1" ;; esac 2>/dev/null',
  "shift",
  'exec "$@"',
].join("\n");

interface SpawnOptions {
  /**
   * Private memory of the process, bytes: its heaps, its stacks and writable mappings of libraries,
   * used or not; Node's code range is added. Allocations beyond it fail. Null for no limit.
   */
  readonly memoryBytes: number | null;
  /** Indexed by descriptor; all others are closed. Numbers are descriptors of this process. */
  readonly stdio: readonly ("ignore" | "pipe" | number)[];
  /** Arguments of the script; default none. */
  readonly args?: readonly string[];
  /** Variables that extend and override those of `modelEnvironment`. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts Node with a script that runs models: in the root folder, with files private to its user,
 * without core dumps, with a heap of 512 MiB.
 * @param script path of a built file.
 * @returns a process; if the operating system refuses it, one without a pid and without streams
 * that emits "error".
 */
export function spawnLimited(script: string, options: SpawnOptions): ChildProcess {
  const { memoryBytes, stdio, args = [], env = {} } = options;
  const node = [process.execPath, ...NODE_FLAGS, script, ...args];
  const surroundings = {
    cwd: "/",
    env: { ...modelEnvironment(), ...env },
    stdio: [...stdio],
  };
  const limit =
    memoryBytes === null ? "no" : String(Math.ceil((memoryBytes + codeRangeBytes()) / 1024));
  const start = () =>
    hasLimits()
      ? spawn(SHELL, ["-c", LIMITED, SHELL, limit, ...node], surroundings)
      : spawn(process.execPath, node.slice(1), surroundings);
  const child = orRefused(start);
  standBack(child);
  return child;
}

/** Node throws some refusals (ENOMEM), and reports others (EMFILE, EAGAIN) by an event. */
function orRefused(start: () => ChildProcess): ChildProcess {
  try {
    const child = start();
    // Refused processes may have streams, of descriptors that were never opened.
    if (child.pid === undefined) for (const stream of child.stdio ?? []) stream?.destroy();
    return child;
  } catch (error) {
    const refused = new ChildProcess();
    process.nextTick(() => refused.emit("error", error));
    return refused;
  }
}

const LEAST_CODE_RANGE = 2 ** 26;
let codeRange: number | undefined;

/**
 * Returns the bytes that Node reserves for compiled code, measured in this process: newer versions
 * map half a GiB as writable at the start, which the system counts although little is used.
 */
export function codeRangeBytes(): number {
  codeRange ??= process.platform === "linux" ? writableCodeBytes() : 0;
  return codeRange;
}

function writableCodeBytes(): number {
  let maps = "";
  try {
    maps = readFileSync("/proc/self/maps", "utf8");
  } catch {
    // The limit is used as given if there is no /proc.
  }
  let bytes = 0;
  for (const [, from = "", to = ""] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rwxp /gm)) {
    const size = Number.parseInt(to, 16) - Number.parseInt(from, 16);
    // Older versions reserve the range, and map what they use.
    if (size >= LEAST_CODE_RANGE) bytes += Math.ceil(size / LEAST_CODE_RANGE) * LEAST_CODE_RANGE;
  }
  return bytes;
}

/** Before it has threads, which begin with its priority. */
function standBack({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, STANDS_BACK);
  } catch {
    // It has ended, or stands further back already.
  }
}

let answer: boolean | undefined;

/**
 * Whether memory limits are in force: on Linux, if there is a shell. Other systems have no suitable
 * limit, and processes run without.
 */
export function hasLimits(): boolean {
  if (answer !== undefined) return answer;
  if (process.platform !== "linux") return false;
  const arguments_ = ["-c", "ulimit -d 1000000 && ulimit -c 0"];
  const { status, error } = spawnSync(SHELL, arguments_, { stdio: "ignore" });
  // A shortage says nothing about the shell, and must not start workers without limits.
  if (isShortage(error)) return true;
  answer = status === 0;
  return answer;
}

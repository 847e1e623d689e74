/** How processes that run models are born: with little of the server, and with limits. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { modelEnvironment } from "../../devices/model-environment.ts";

/**
 * JavaScript objects are few: tensors and models lie outside of this heap. What read a model can
 * give its bytes back at once.
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
 * `ulimit` counts KiB. A limit that is there already and lower stays, and the shell says so; "no"
 * stands for none.
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
   * Bytes that the process may have of its own: its heaps, its stacks and what libraries map to
   * write to, used or not; the code range of Node comes on top. What goes beyond is refused to it.
   * Null for no limit.
   */
  readonly memoryBytes: number | null;
  /** Indexed by descriptor; all others are closed. Numbers are descriptors of this process. */
  readonly stdio: readonly ("ignore" | "pipe" | number)[];
  /** Arguments of the script; none if left out. */
  readonly args?: readonly string[];
  /** Variables beside those of `modelEnvironment`, which they replace. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts Node with a script that runs models: in the root folder, what it writes for its own user
 * only, without core dumps, with a heap of 512 MiB.
 * @param script path of a built file.
 * @throws Error if the operating system refuses at once; else "error" is emitted.
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
  const child = hasLimits()
    ? spawn(SHELL, ["-c", LIMITED, SHELL, limit, ...node], surroundings)
    : spawn(process.execPath, node.slice(1), surroundings);
  standBack(child);
  return child;
}

const LEAST_CODE_RANGE = 2 ** 26;
let codeRange: number | undefined;

/**
 * What Node keeps for compiled code, as this process sees its own: newer ones map half a GiB to
 * write to as they start, which the system counts as theirs though next to nothing is used.
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
    // Older ones reserve the range, and map what they use.
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
 * Whether limits of memory are in force: on Linux, where there is a shell. Elsewhere the system
 * knows none that fits, and processes go without.
 */
export function hasLimits(): boolean {
  answer ??=
    process.platform === "linux" &&
    spawnSync(SHELL, ["-c", "ulimit -d 1000000 && ulimit -c 0"], { stdio: "ignore" }).status === 0;
  return answer;
}

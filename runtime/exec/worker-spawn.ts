/** How processes that run models are born: with little of the server, and with limits. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";

/**
 * What of the server's environment they get, because libraries, drivers and onnxruntime ask for it.
 * All else stays: credentials, and what would change Node (`NODE_OPTIONS`).
 */
const PASSED_NAMES: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "SYSTEMROOT"],
  ...["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "GLIBC_TUNABLES"],
  ...["DRI_PRIME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_DATA_DIRS"],
]);
/**
 * Of languages and memory; of onnxruntime and its threads; of CUDA and its cache; of Vulkan, for
 * WebGPU.
 */
const PASSED_PREFIXES: readonly string[] = [
  ...["LC_", "MALLOC_"],
  ...["ORT_", "OMP_", "KMP_"],
  ...["CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_"],
  ...["VK_", "MESA_", "DAWN_"],
  // Where NVIDIA's driver keeps compiled shaders, those of Vulkan too.
  "__GL_SHADER_DISK_CACHE",
];

/**
 * Without it, builds of onnxruntime send what they do to their maker, and keep a database in the
 * home and a file in the folder for temporary ones.
 */
const NO_TELEMETRY = { ORT_DISABLE_TELEMETRY: "1" };

/**
 * JavaScript objects are few: tensors and models lie outside of this heap. What read a model can
 * give its bytes back at once.
 */
export const HEAP_MIB = 512;
const NODE_FLAGS = [`--max-old-space-size=${HEAP_MIB}`, "--expose-gc"];

/**
 * How far these processes stand back where cores are short (nice): whoever takes requests in, and
 * refuses them, does not wait for those who compute.
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

export interface SpawnOptions {
  /**
   * Bytes that the process may have of its own: its heaps, its stacks and what libraries map to
   * write to, used or not; the code range of Node comes on top. What goes beyond is refused to it.
   * Null for no limit.
   */
  readonly memoryBytes: number | null;
  /** By descriptor; there are no others. Numbers are those of this process. */
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
    // Where nothing tells, the limit is taken as it is.
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

/** What of this process's environment one that runs models gets. */
export function modelEnvironment(from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const passed: Record<string, string> = { ...NO_TELEMETRY };
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && isPassed(name)) passed[name] = value;
  }
  return passed;
}

function isPassed(name: string): boolean {
  return PASSED_NAMES.has(name) || PASSED_PREFIXES.some((prefix) => name.startsWith(prefix));
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

/** Queries GPUs and MIG instances with nvidia-smi, a program of NVIDIA's driver. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { DeviceDescription } from "../bundle/schema.ts";
import { nameOf } from "./names.ts";

type Environment = Readonly<Record<string, string>>;

/** State of a GPU; null where nvidia-smi has no value. */
export interface GpuSample {
  /** "GPU-…". */
  readonly uuid: string;
  /** Share of the last sample period in which a kernel ran, 0..1. */
  readonly utilization: number | null;
  readonly memoryTotalBytes: number | null;
  readonly memoryUsedBytes: number | null;
  readonly powerWatts: number | null;
  readonly powerLimitWatts: number | null;
}

interface ListedDevice {
  readonly name: string;
  /** "GPU-…"; "MIG-…" for an instance. */
  readonly uuid: string;
}

/** A suspended driver takes seconds to wake up. */
const TIMEOUT_MS = 20_000;
const MIB = 2 ** 20;
const SAMPLED = "uuid,utilization.gpu,memory.total,memory.used,power.draw,power.limit";

/** @throws Error with code ENOENT if nvidia-smi is missing, and other errors. */
export async function sampleGpus(env: Environment): Promise<GpuSample[]> {
  const rows = await query(`--query-gpu=${SAMPLED}`, env);
  return rows.map(([uuid = "", utilization, total, used, power, limit]) => ({
    uuid,
    utilization: scaled(utilization, 1 / 100),
    memoryTotalBytes: scaled(total, MIB),
    memoryUsedBytes: scaled(used, MIB),
    powerWatts: scaled(power, 1),
    powerLimitWatts: scaled(limit, 1),
  }));
}

/** Memory per process over all GPUs. @throws Error as sampleGpus does. */
export async function memoryByPid(env: Environment): Promise<Map<number, number>> {
  const byPid = new Map<number, number>();
  for (const [pid, used] of await query("--query-compute-apps=pid,used_memory", env)) {
    const bytes = scaled(used, MIB);
    if (bytes !== null) byPid.set(Number(pid), bytes + (byPid.get(Number(pid)) ?? 0));
  }
  return byPid;
}

/**
 * Finds the GPU or MIG instance that CUDA means by an id.
 * @param id entry of CUDA_VISIBLE_DEVICES: a number, or the beginning of a UUID. @param
 * isInBusOrder whether CUDA uses the order of the PCI bus, as nvidia-smi does; otherwise it orders
 * by speed.
 * @returns null if nvidia-smi or the device is missing, or the id is ambiguous.
 */
export async function nvidiaDevice(
  id: string,
  isInBusOrder: boolean,
  env: Environment,
): Promise<DeviceDescription | null> {
  try {
    const name = found(listedDevices(await run(["-L"], env)), id, isInBusOrder)?.name;
    if (name === undefined) return null;
    const [[driver = ""] = []] = await query("--query-gpu=driver_version", env);
    return { name: nameOf(name), driver: nameOf(driver) || null };
  } catch {
    return null;
  }
}

function found(
  devices: readonly ListedDevice[],
  id: string,
  isInBusOrder: boolean,
): ListedDevice | undefined {
  if (/^\d+$/.test(id)) {
    const gpus = devices.filter(({ uuid }) => uuid.startsWith("GPU-"));
    const isSure = isInBusOrder || new Set(gpus.map(({ name }) => name)).size <= 1;
    return isSure ? gpus[Number(id)] : undefined;
  }
  const meant = devices.filter(({ uuid }) => uuid.toLowerCase().startsWith(id.toLowerCase()));
  return meant.length === 1 ? meant[0] : undefined;
}

/** Parses `nvidia-smi -L`: a line for each GPU, followed by one for each of its MIG instances. */
function listedDevices(text: string): ListedDevice[] {
  let gpu = "";
  return text.split("\n").flatMap((line) => {
    // `GPU 0: NAME (UUID: GPU-…)`, or `  MIG NAME     Device  0: (UUID: MIG-…)`.
    const [before = "", after] = line.split("(UUID: ", 2);
    const uuid = after?.split(")", 1)[0];
    const words = before.split(" ").filter((word) => word !== "");
    if (uuid === undefined) return [];
    if (words[0] === "GPU") {
      gpu = words.slice(2).join(" ");
      return { name: gpu, uuid };
    }
    const end = words.indexOf("Device");
    return { name: `${gpu} MIG ${words.slice(1, end < 0 ? undefined : end).join(" ")}`, uuid };
  });
}

async function query(what: string, env: Environment): Promise<string[][]> {
  const lines = (await run([what, "--format=csv,noheader,nounits"], env)).split("\n");
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => line.split(",").map((field) => field.trim()));
}

async function run(args: readonly string[], env: Environment): Promise<string> {
  const options = { cwd: "/", env, timeout: TIMEOUT_MS, killSignal: "SIGKILL" } as const;
  return (await promisify(execFile)("nvidia-smi", [...args], options)).stdout;
}

/** Null for a value such as "[N/A]". */
function scaled(field: string | undefined, factor: number): number | null {
  const value = Number.parseFloat(field ?? "");
  return Number.isFinite(value) ? value * factor : null;
}

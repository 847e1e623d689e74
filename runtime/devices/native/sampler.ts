/**
 * The program of a process that looks at accelerators every second and prints what it sees, a line
 * of JSON each. It is told the process ids of workers in lines of JSON, and ends with its input, or
 * at once where there is nothing to see.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { drmMemoryBytes } from "../drm-memory.ts";
import type { DeviceSample, GpuSample } from "../gpu-sample.ts";
import { Nvml, type NvmlDevice } from "./nvml.ts";

const INTERVAL_MS = 1000;
const DRM = "/dev/dri";

// A terminal signals the whole group; it ends with the server.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

const nvml = openNvml();
const devices = nvml?.devices() ?? [];
const hasDrm = existsSync(DRM) && readdirSync(DRM).some((name) => name.startsWith("renderD"));
if (devices.length === 0 && !hasDrm) process.exit(0);

let pids: readonly number[] = [];
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  pids = JSON.parse(line);
});
lines.on("close", () => process.exit(0));
process.stdout.on("error", () => process.exit(0));
lines.once("line", () => {
  tell();
  setInterval(tell, INTERVAL_MS);
});

function tell(): void {
  const sample: DeviceSample = {
    gpus: nvml === null ? [] : devices.flatMap((device) => sampleOf(nvml, device)),
    bytesByPid: Object.fromEntries(bytesByPid()),
  };
  process.stdout.write(`${JSON.stringify(sample)}\n`);
}

function openNvml(): Nvml | null {
  try {
    return Nvml.open();
  } catch {
    return null;
  }
}

function sampleOf(from: Nvml, device: NvmlDevice): GpuSample[] {
  const uuid = from.uuid(device);
  if (uuid === null) return [];
  const memory = from.memory(device);
  return [
    {
      uuid,
      utilization: scaled(from.utilizationPercent(device), 100),
      memoryTotalBytes: memory?.totalBytes ?? null,
      memoryUsedBytes: memory?.usedBytes ?? null,
      powerWatts: scaled(from.powerMilliwatts(device), 1000),
      powerLimitWatts: scaled(from.powerLimitMilliwatts(device), 1000),
      energyJoules: scaled(from.energyMillijoules(device), 1000),
    },
  ];
}

function scaled(value: number | null, divisor: number): number | null {
  return value === null ? null : value / divisor;
}

/** Of the workers. A process on several devices has what it has on all of them. */
function bytesByPid(): Map<number, number> {
  const found = new Map<number, number>();
  for (const device of devices) {
    // What runs on instances is told of them, and of the GPU as a whole to administrators only.
    const instances = nvml?.migDevices(device) ?? [];
    for (const one of instances.length === 0 ? [device] : instances) {
      for (const [pid, bytes] of nvml?.memoryByPid(one) ?? []) {
        if (pids.includes(pid)) found.set(pid, bytes + (found.get(pid) ?? 0));
      }
    }
  }
  for (const pid of hasDrm ? pids : []) {
    const bytes = found.has(pid) ? null : drmMemoryBytes(descriptorsOf(pid));
    if (bytes !== null) found.set(pid, bytes);
  }
  return found;
}

/** Empty for a process that has ended. */
function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fdinfo`;
  try {
    return readdirSync(folder).flatMap((name) => {
      try {
        return [readFileSync(`${folder}/${name}`, "latin1")];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

/** Metrics of accelerators, with Triton's names, and of the GPU memory that workers use. */

import { head, line, type MetricLine, type MetricType } from "../../base/exposition.ts";
import type { DeviceSample } from "../../devices/gpu-sampler.ts";
import type { GpuSample } from "../../devices/nvidia-smi.ts";

/** Process ids of the workers of an application, by slot; undefined where there is no worker. */
export interface WorkersOfApplication {
  readonly model: string;
  readonly pids: readonly (number | undefined)[];
}

const OF_GPUS: readonly (readonly [string, MetricType, string, keyof GpuSample])[] = [
  [
    "nv_gpu_utilization",
    "gauge",
    "Share of the last sampling period in which the GPU was busy",
    "utilization",
  ],
  ["nv_gpu_memory_total_bytes", "gauge", "Memory of the GPU", "memoryTotalBytes"],
  ["nv_gpu_memory_used_bytes", "gauge", "GPU memory in use", "memoryUsedBytes"],
  ["nv_gpu_power_usage", "gauge", "Power draw of the GPU, watts", "powerWatts"],
  ["nv_gpu_power_limit", "gauge", "Power limit of the GPU, watts", "powerLimitWatts"],
];

const OF_WORKERS = "stratagem_worker_gpu_memory_bytes";

/** @param sample null where it cannot be read; the result is empty then. */
export function gpuLines(
  sample: DeviceSample | null,
  applications: readonly WorkersOfApplication[],
): MetricLine[] {
  if (sample === null) return [];
  return [...OF_GPUS.flatMap((one) => familyOf(sample, one)), ...workerLines(sample, applications)];
}

/** Empty where no driver reports the value. */
function familyOf(
  { gpus }: DeviceSample,
  [name, type, help, key]: (typeof OF_GPUS)[number],
): MetricLine[] {
  const samples = gpus.flatMap((gpu) => {
    const value = gpu[key];
    return typeof value === "number" ? [line(name, { gpu_uuid: gpu.uuid }, value)] : [];
  });
  return samples.length === 0 ? [] : [head(name, type, help), ...samples];
}

function workerLines(
  { bytesByPid }: DeviceSample,
  applications: readonly WorkersOfApplication[],
): MetricLine[] {
  const samples = applications.flatMap(({ model, pids }) =>
    pids.flatMap((pid, worker) => {
      const bytes = pid === undefined ? undefined : bytesByPid.get(pid);
      const labels = { model, worker: String(worker) };
      return bytes === undefined ? [] : [line(OF_WORKERS, labels, bytes)];
    }),
  );
  if (samples.length === 0) return [];
  return [head(OF_WORKERS, "gauge", "GPU memory used by a worker"), ...samples];
}

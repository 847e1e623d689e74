/** What accelerators take, by Triton's names, and what workers have of their memory. */

import { head, line, type MetricLine, type MetricType } from "../../base/exposition.ts";
import type { DeviceSample } from "../../devices/gpu-sampler.ts";
import type { GpuSample } from "../../devices/nvidia-smi.ts";

/** Workers of an application, by slot; undefined where there is none. */
export interface WorkersOfApplication {
  readonly model: string;
  readonly pids: readonly (number | undefined)[];
}

const OF_GPUS: readonly (readonly [string, MetricType, string, keyof GpuSample])[] = [
  ["nv_gpu_utilization", "gauge", "Share of the last sample in which the GPU ran", "utilization"],
  ["nv_gpu_memory_total_bytes", "gauge", "Memory of the GPU", "memoryTotalBytes"],
  ["nv_gpu_memory_used_bytes", "gauge", "Memory of it that is used", "memoryUsedBytes"],
  ["nv_gpu_power_usage", "gauge", "Power that the GPU takes, watts", "powerWatts"],
  ["nv_gpu_power_limit", "gauge", "Power that it may take, watts", "powerLimitWatts"],
];

const OF_WORKERS = "stratagem_worker_gpu_memory_bytes";

/** @param sample null where nothing can be read; then there are no lines. */
export function gpuLines(
  sample: DeviceSample | null,
  applications: readonly WorkersOfApplication[],
): MetricLine[] {
  if (sample === null) return [];
  return [...OF_GPUS.flatMap((one) => familyOf(sample, one)), ...workerLines(sample, applications)];
}

/** None where no driver tells it. */
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
  return [head(OF_WORKERS, "gauge", "Memory of GPUs that a worker has"), ...samples];
}

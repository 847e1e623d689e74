/** What accelerators and processes on them take at one moment. */

/** Of one GPU; what its driver does not tell is null. */
export interface GpuSample {
  /** "GPU-…". */
  readonly uuid: string;
  /** Share of the time in which it computed, 0..1. */
  readonly utilization: number | null;
  readonly memoryTotalBytes: number | null;
  readonly memoryUsedBytes: number | null;
  readonly powerWatts: number | null;
  readonly powerLimitWatts: number | null;
  /** Since its driver was loaded. */
  readonly energyJoules: number | null;
}

export interface DeviceSample {
  readonly gpus: readonly GpuSample[];
  /** Memory of accelerators by process id. */
  readonly bytesByPid: Readonly<Record<string, number>>;
}

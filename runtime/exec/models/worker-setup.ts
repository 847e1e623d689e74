/** The setup that the server sends to a new worker. */
import type { VariantModel } from "./executor.ts";
import type { CpuFallback } from "./model-facts.ts";
import type { WorkerDevice } from "./worker-device.ts";

/** Sent as JSON. */
export interface WorkerSetup {
  readonly variants: readonly VariantModel[];
  /** Cores of a batch, until a resize. */
  readonly threads: number;
  readonly on: WorkerDevice;
  /**
   * Whether the device may be absent; the error then says so, and the library's log lines are
   * silenced.
   */
  readonly trying: boolean;
  /**
   * Null if a worker loads all variants at its start. Otherwise it loads the variants it is
   * assigned, and keeps this many loaded, least recently used out first.
   */
  readonly keptModels: number | null;
  /** Whether nodes that a GPU leaves to the processor are allowed; default allow. */
  readonly cpuFallback?: CpuFallback;
  /**
   * Candidate folders for temporary files, tried in order; the server removes what is left in them.
   * If left out, the worker chooses its own.
   */
  readonly scratch?: readonly string[];
}

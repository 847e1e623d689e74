/** What a worker is to become, as the server tells it. */
import type { VariantModel } from "./executor.ts";
import type { CpuFallback } from "./model-facts.ts";
import type { WorkerDevice } from "./worker-device.ts";

/** Sent as JSON. */
export interface WorkerSetup {
  readonly variants: readonly VariantModel[];
  /** Cores of a batch, as long as nobody scales. */
  readonly threads: number;
  readonly on: WorkerDevice;
  /**
   * Whether the device may be absent, which the error says better than the log lines of its
   * library.
   */
  readonly trying: boolean;
  /**
   * Null where a worker loads all variants at its start. Otherwise it loads what it is assigned,
   * and keeps as many loaded, the last used ones.
   */
  readonly keptModels: number | null;
  /** Whether nodes that a GPU leaves to the processor are allowed; left out, they are. */
  readonly cpuFallback?: CpuFallback;
  /**
   * Folders of which it may make the first that it can, for files of a moment: the server removes
   * what is left of them. Left out, it chooses its own.
   */
  readonly scratch?: readonly string[];
}

/** Source of the load for a scaler: polled front ends, or their beats in a cluster. */
import type { MeasuredLoad } from "../core/load-monitor.ts";

export interface LoadSource {
  /** Total over all front ends that count. */
  load(): MeasuredLoad;
  /** Service times of the workers relative to the profile. */
  pace(): number;
  /** Reason why the load is unknown; null if known. */
  whyUnknown(nowMs: number): string | null;
  /** Must be called every second. Never throws. */
  look(nowMs: () => number): Promise<void>;
}

/** Whom a scaler learns the load from: front ends that are asked, or that tell it themselves. */
import type { MeasuredLoad } from "../core/load-monitor.ts";

export interface LoadSource {
  /** Of all front ends that count. */
  load(): MeasuredLoad;
  /** Service times of their workers over those of the profile. */
  pace(): number;
  /** Why the load is not known; null where it is. */
  whyUnknown(nowMs: number): string | null;
  /** To be called each second. Never throws. */
  look(nowMs: () => number): Promise<void>;
}

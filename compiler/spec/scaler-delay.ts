/** What the autoscaler of a spec adds to the time that replicas take to come up. */
import type { ScalerDelay } from "./application.ts";

/** Of kube-controller-manager, unless it is told otherwise. */
const SYNC_MS = 15_000;

export function scalerDelayOf(
  scaler: "none" | "hpa" | "keda",
  pollingMs: number,
): { readonly scalerDelay?: ScalerDelay } {
  if (scaler === "none") return {};
  return { scalerDelay: { syncMs: SYNC_MS, pollingMs: scaler === "keda" ? pollingMs : 0 } };
}

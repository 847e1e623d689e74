/** Delay that the autoscaler of a spec adds to the start of replicas. */
import type { ScalerDelay } from "./application.ts";

/** Default sync period of kube-controller-manager. */
const SYNC_MS = 15_000;

export function scalerDelayOf(
  scaler: "none" | "hpa" | "keda",
  pollingMs: number,
): { readonly scalerDelay?: ScalerDelay } {
  if (scaler === "none") return {};
  return { scalerDelay: { syncMs: SYNC_MS, pollingMs: scaler === "keda" ? pollingMs : 0 } };
}

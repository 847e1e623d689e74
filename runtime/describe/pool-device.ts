/** Text about the device of a pool's workers, and the hardware it was measured on. */
import { type Cluster, descriptionText, type Pool } from "../bundle/schema.ts";

/**
 * Returns a text such as ` on webgpu, measured on SwiftShader Device, driver 5.0.0`; empty if not
 * stated.
 */
export function onDevice({ device, measuredOn }: Pick<Pool, "device" | "measuredOn">): string {
  const on = device === undefined ? "" : ` on ${device}`;
  if (measuredOn === undefined) return on;
  const kind = device === undefined ? `${measuredOn.provider}, ` : "";
  return `${on}, measured on ${kind}${descriptionText(measuredOn)}`;
}

/** Returns the pools that state a device or hardware. */
export function devicePools({ pools }: Cluster): readonly Pool[] {
  return pools.filter(({ device, measuredOn }) => device !== undefined || measuredOn !== undefined);
}

/** Returns the origin of a start time, to append to it. */
export function startOrigin({ startFrom }: { readonly startFrom?: "profiles" }): string {
  return startFrom === undefined ? "" : " as the profiles measured";
}

/** What the workers of a pool run on, and what that was measured on, in words. */
import { type Cluster, descriptionText, type Pool } from "../bundle/schema.ts";

/** ` on webgpu, measured on SwiftShader Device, driver 5.0.0`; empty where nobody says. */
export function onDevice({ device, measuredOn }: Pick<Pool, "device" | "measuredOn">): string {
  const on = device === undefined ? "" : ` on ${device}`;
  if (measuredOn === undefined) return on;
  const kind = device === undefined ? `${measuredOn.provider}, ` : "";
  return `${on}, measured on ${kind}${descriptionText(measuredOn)}`;
}

/** Pools that say what they are on; none where nobody says it. */
export function devicePools({ pools }: Cluster): readonly Pool[] {
  return pools.filter(({ device, measuredOn }) => device !== undefined || measuredOn !== undefined);
}

/** What a start time is, behind it. */
export function startOrigin({ startFrom }: { readonly startFrom?: "profiles" }): string {
  return startFrom === undefined ? "" : " as the profiles measured";
}

/** Parses the options of `simulate` that select the simulated stations of the server. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Cluster } from "stratagem-runtime/internal/bundle/schema";
import type { StationOptions } from "../../simulate/serving/stations.ts";

/** @throws RuntimeError for an unknown name. */
export function parseStations(without: string | undefined): StationOptions {
  const left = without?.split(",").map((name) => name.trim()) ?? [];
  if (left.every((name) => name === "path" || name === "contention")) {
    return { path: !left.includes("path"), contention: !left.includes("contention") };
  }
  const expected = "expected --without path, contention or path,contention";
  throw new RuntimeError("RUNTIME_USAGE", `${expected}, got "${without}"`);
}

/** Component that the simulated latencies leave out, and why. */
interface Omission {
  readonly name: "serving path" | "contention";
  readonly why: "not profiled" | "left out";
}

export function omissionsOf(
  { path = true, contention = true }: StationOptions,
  { serving }: Cluster,
): readonly Omission[] {
  const why = serving === undefined ? "not profiled" : "left out";
  const omissions: Omission[] = [];
  if (!path || serving === undefined) omissions.push({ name: "serving path", why });
  if (!contention || serving === undefined) omissions.push({ name: "contention", why });
  return omissions;
}

/** Formats one line, such as `latencies without serving path (left out)`. */
export function omissionsText(omissions: readonly Omission[]): string {
  const names = omissions.map(({ name }) => name).join(" and ");
  return `latencies without ${names} (${omissions[0]?.why})`;
}

/** The limits of a server of several processes: what is of the server, each has its part of. */
import { RuntimeError } from "../../errors.ts";
import type { ServerLimits } from "../applications/limits.ts";

/** Far above what a machine has cores for. */
export const MAX_PROCESSES = 64;

/** @throws RuntimeError RUNTIME_USAGE where a part would be too small for one request. */
export function dividedLimits(limits: ServerLimits, processes: number): ServerLimits {
  const part = (all: number) => Math.floor(all / processes);
  const { maxBytesInFlight, maxBodyBytes, maxUnsentBytes, maxUnsentBytesPerConnection } = limits;
  if (part(maxBytesInFlight) < maxBodyBytes) {
    const expected = `expected --max-in-flight of at least ${processes} times --max-body`;
    const found = `${maxBytesInFlight} and ${maxBodyBytes} bytes`;
    const message = `--processes ${processes}: ${expected}, got ${found}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
  return {
    ...limits,
    maxBytesInFlight: part(maxBytesInFlight),
    maxConnections: Math.ceil(limits.maxConnections / processes),
    maxUnsentBytes: part(maxUnsentBytes),
    maxUnsentBytesPerConnection: Math.min(maxUnsentBytesPerConnection, part(maxUnsentBytes)),
    // The process that decides has waited before it tells them to stop.
    drainDelayMs: 0,
  };
}

/** Inputs of `scaler`: its command line, and the process it runs in. */
import type { Address } from "../kinds/kinds.ts";
import type { TlsPaths } from "../server/access/tls.ts";
import type { CommandResult } from "./command-result.ts";

/** Flags of the command line. */
export interface ScalerFlags {
  /** Path or URL. */
  readonly policy: string;
  readonly store?: string;
  /** Metrics of front ends; empty with a cluster. */
  readonly metrics: readonly string[];
  readonly cluster?: string;
  readonly grpc: Address;
  readonly token?: readonly string[];
  readonly tls?: TlsPaths;
}

export interface ScalerSurroundings {
  readonly signal: AbortSignal;
  /** Called once it answers. */
  readonly onReady: (result: CommandResult) => void;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
  readonly environment: NodeJS.ProcessEnv;
  readonly onNotice: (message: string) => void;
}

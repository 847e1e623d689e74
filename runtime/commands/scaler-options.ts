/** What `scaler` is given: by its command line, and by the process it runs in. */
import type { Address } from "../kinds/kinds.ts";
import type { TlsPaths } from "../server/access/tls.ts";
import type { CommandResult } from "./command-result.ts";

/** As the command line has them. */
export interface ScalerFlags {
  /** Path or URL. */
  readonly policy: string;
  readonly store?: string;
  /** Either some of these, or a cluster. */
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
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  readonly environment: NodeJS.ProcessEnv;
  readonly onNotice: (message: string) => void;
}

/** Interface of the gRPC listener that the server can use without loading gRPC code. */
import type { MetricLine } from "../../base/exposition.ts";
import type { RegisterRpcs } from "./rpcs.ts";

export interface GrpcOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Bytes of a message that is received; left out for the largest request of the models. */
  readonly maxMessageBytes?: number;
  /** Calls of one connection at the same time. */
  readonly maxStreams: number;
  /** Whether administrators are served there; left out, they are. */
  readonly servesAdmin?: boolean;
  /** RPCs of features. Default: none. */
  readonly rpcs?: readonly RegisterRpcs[];
}

export interface GrpcListener {
  /** HOST:PORT, as clients of gRPC have it. */
  readonly url: string;
  /** Metrics of the listener, for all models. */
  metricLines(): MetricLine[];
  /** Notifies health watchers of the server's current readiness. */
  announceStop(): void;
  /**
   * Accepts no more connections, answers what was sent on those that there are, and ends them.
   * @returns a promise that is kept when none is left.
   */
  stop(): Promise<void>;
  /** Ends what is left, soon. @param stopped of `stop`. */
  close(stopped: Promise<void>): Promise<void>;
}

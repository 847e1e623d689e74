/** Interface of the gRPC listener that the server can use without loading gRPC code. */
import type { MetricLine } from "../../base/exposition.ts";
import type { RegisterRpcs } from "./rpcs.ts";

export interface GrpcOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Limit of received messages in bytes. Default: the largest request of the models. */
  readonly maxMessageBytes?: number;
  /** Calls of one connection at the same time. */
  readonly maxStreams: number;
  /** Whether the listener serves administrators. Default: true. */
  readonly servesAdmin?: boolean;
  /** RPCs of features. Default: none. */
  readonly rpcs?: readonly RegisterRpcs[];
}

export interface GrpcListener {
  /** HOST:PORT, as clients of gRPC have it. */
  readonly url: string;
  metricLines(): MetricLine[];
  /** Notifies health watchers of the server's current readiness. */
  announceStop(): void;
  /**
   * Stops accepting connections, answers open requests, and ends the connections.
   * @returns a promise that resolves when all are closed.
   */
  stop(): Promise<void>;
  /** Ends what is left, soon. @param stopped of `stop`. */
  close(stopped: Promise<void>): Promise<void>;
}

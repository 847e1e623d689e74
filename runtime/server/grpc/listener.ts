/** What the server knows of its gRPC listener without any of its code being loaded. */
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
  /** What features add; left out for nothing. */
  readonly rpcs?: readonly RegisterRpcs[];
}

export interface GrpcListener {
  /** HOST:PORT, as clients of gRPC have it. */
  readonly url: string;
  /** Of the server, whatever the model. */
  metricLines(): MetricLine[];
  /** Tells whoever watches whether it is ready, as it is now. */
  announceStop(): void;
  /**
   * Accepts no more connections, answers what was sent on those that there are, and ends them.
   * @returns a promise that is kept when none is left.
   */
  stop(): Promise<void>;
  /** Ends what is left, soon. @param stopped of `stop`. */
  close(stopped: Promise<void>): Promise<void>;
}

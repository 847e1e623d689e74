/** What the server knows of its gRPC door without any of its code being loaded. */
import type { MetricLine } from "../metrics/exposition.ts";

export interface GrpcOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Bytes of a message that is received; left out for the largest request of the models. */
  readonly maxMessageBytes?: number;
  /** Calls of one connection at the same time. */
  readonly maxStreams: number;
}

export interface GrpcDoor {
  /** HOST:PORT, as clients of gRPC have it. */
  readonly url: string;
  /** Of the server, whatever the model. */
  metricLines(): MetricLine[];
  /** Tells whoever watches that the server takes no more inference. */
  drain(): void;
  /** Accepts no more connections, and ends those that there are once they are answered. */
  close(): Promise<void>;
}

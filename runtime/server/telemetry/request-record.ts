/** What is noted of a request between its door and its answer, for logs and traces. */
import type { BatchRun } from "../requests/batch-run.ts";
import type { TraceParent } from "./trace-context.ts";

/** What a door knows of a request when it comes. */
export interface SeenRequest {
  readonly protocol: "http" | "grpc";
  /** Of HTTP its method, of gRPC that of the service. */
  readonly method: string;
  /** Without what follows a question mark. */
  readonly path: string;
  /** Address and port. */
  readonly client: string;
  readonly userAgent?: string | undefined;
  /** Bytes of the body as it is announced; undefined where it is not. */
  readonly requestBytes?: number | undefined;
  /** As the client named it; undefined or not fit to be said in a header where it did not. */
  readonly id?: string | undefined;
  readonly parent?: TraceParent | undefined;
}

export interface RequestRecord extends SeenRequest {
  /** Of gRPC known once the message is there. */
  requestBytes?: number | undefined;
  /** Of the client, or made. */
  id: string;
  /** Whether the client has not named it. */
  isIdMade: boolean;
  readonly traceId: string;
  /** Of the span that is the request here. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** Of the clock of the server. */
  readonly arrivalMs: number;
  endMs: number;
  /** HTTP's; of gRPC the code of its answer. Null where the client was gone before it. */
  status: number | null;
  /** How far the server was behind when it came, which counts too. */
  lagMs: number;
  /** What its answer may take; NaN where no model was asked. */
  sloMs: number;
  /** When it was read and handed to what schedules; NaN where it was not. */
  readMs: number;
  /** When it was known that there will be no answer; NaN where there is one. */
  failedMs: number;
  /** Name of its class or sizes of its bucket; empty where there are none. */
  kind: string;
  /** Why there is no answer, in a word; empty where there is one, or none was scheduled. */
  reason: string;
  /** Of the file of the bundle that decides; empty where that is not known. */
  bundleSha256: string;
  responseBytes: number;
  /** Empty where no model was asked. */
  model: string;
  /** That has the model; empty likewise. */
  application: string;
  /** Whether it named its variant, or asked for the same one for all its rows. */
  isNamed: boolean;
  rows: number;
  /** NaN where nothing ran. */
  queueMs: number;
  computeMs: number;
  /** Who answered; empty where nobody did. */
  variant: string;
  accuracy: number;
  /** Batches in which its rows ran. */
  runs: readonly BatchRun[];
  /** How long the first of its queries waited for each of them; empty where all came at once. */
  waitsMs: readonly number[];
  /** Why there is no answer; empty where there is one. */
  error: string;
}

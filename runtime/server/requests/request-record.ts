/** Record of a request between its arrival and its answer, for logs and traces. */
import type { BatchRun } from "./request.ts";
import { randomHex, type TraceParent } from "./trace-context.ts";

const NONE: readonly never[] = [];

/** Data that a listener has on a request's arrival. */
export interface SeenRequest {
  readonly protocol: "http" | "grpc";
  /** HTTP method, or gRPC service and method. */
  readonly method: string;
  /** Path without the query string. */
  readonly path: string;
  /** Address and port. */
  readonly client: string;
  readonly userAgent?: string | undefined;
  /** Announced bytes of the body; undefined where they are not announced. */
  readonly requestBytes?: number | undefined;
  /** Client's id; undefined if it is missing or not valid in a header. */
  readonly id?: string | undefined;
  readonly parent?: TraceParent | undefined;
}

/** Initial fields of a record that its listener does not know. */
export interface RecordOrigin {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  /** Time on the server's clock. */
  readonly arrivalMs: number;
}

/**
 * Record of one request. It is a class with separate fields, for which V8 takes 0.2 µs and 500
 * bytes; the same fields behind a spread take 49 µs and some 14 KB of garbage.
 */
export class RequestRecord implements SeenRequest {
  readonly protocol: "http" | "grpc";
  readonly method: string;
  readonly path: string;
  readonly client: string;
  readonly userAgent: string | undefined;
  /** For gRPC, known once the message is there. */
  requestBytes: number | undefined;
  readonly parent: TraceParent | undefined;
  /** Client's id, or a generated one. */
  id: string;
  /** Whether the id was generated. */
  isIdMade: boolean;
  readonly traceId: string;
  readonly spanId: string;
  /** Whether it is traced; the trace feature decides on arrival. */
  isSampled: boolean;
  readonly arrivalMs: number;
  endMs = Number.NaN;
  /** HTTP's; of gRPC the code of its answer. Null where the client was gone before it. */
  status: number | null = null;
  /** Delay of the event loop on arrival, which counts too. */
  lagMs = 0;
  /** Latency SLO, ms; NaN for requests without a model. */
  sloMs = Number.NaN;
  /** When it was read and handed to what schedules; NaN where it was not. */
  readMs = Number.NaN;
  /** Time of the failure; NaN for an answered request. */
  failedMs = Number.NaN;
  /** Name of its class or sizes of its bucket; empty without classes. */
  kind = "";
  /** Reason of a failure in one word; empty if it was answered or never scheduled. */
  reason = "";
  /** SHA-256 of the bundle's file; empty where it is unknown. */
  bundleSha256 = "";
  responseBytes = 0;
  /** Empty for requests without a model. */
  model = "";
  /** That has the model; empty likewise. */
  application = "";
  /** Whether it named its variant, or requested the same one for all its rows. */
  isNamed = false;
  rows = 0;
  /** NaN if no batch ran. */
  queueMs = Number.NaN;
  computeMs = Number.NaN;
  /** Variant that answered; empty without an answer. */
  variant = "";
  accuracy = Number.NaN;
  /** Batches in which its rows ran. */
  runs: readonly BatchRun[] = NONE;
  /** Time that the first of its queries waited for each batch; empty if all arrived at once. */
  waitsMs: readonly number[] = NONE;
  /** Error message; empty for an answered request. */
  error = "";

  constructor(seen: SeenRequest, { traceId, spanId, isSampled, arrivalMs }: RecordOrigin) {
    this.protocol = seen.protocol;
    this.method = seen.method;
    this.path = seen.path;
    this.client = seen.client;
    this.userAgent = seen.userAgent;
    this.requestBytes = seen.requestBytes;
    this.parent = seen.parent;
    this.id = seen.id ?? `${traceId}-${spanId}`;
    this.isIdMade = seen.id === undefined;
    this.traceId = traceId;
    this.spanId = spanId;
    this.isSampled = isSampled;
    this.arrivalMs = arrivalMs;
  }
}

type RecordHook = (record: RequestRecord) => void;

/** Reasons that a log repeats are cut here. */
const LONGEST_ERROR = 500;

export class Records {
  readonly #arrived: readonly RecordHook[];
  readonly #ended: readonly RecordHook[];
  readonly #nowMs: () => number;

  constructor(arrived: readonly RecordHook[], ended: readonly RecordHook[], nowMs: () => number) {
    this.#arrived = arrived;
    this.#ended = ended;
    this.#nowMs = nowMs;
  }

  /** Called for each new request. */
  begin(seen: SeenRequest): RequestRecord {
    const { parent } = seen;
    const traceId = parent?.traceId ?? randomHex(16);
    const isSampled = parent?.isSampled === true;
    const origin = { traceId, spanId: randomHex(8), isSampled, arrivalMs: this.#nowMs() };
    const record = new RequestRecord(seen, origin);
    for (const hook of this.#arrived) hook(record);
    return record;
  }

  /** The request is over. @param status null where its client was gone before the answer. */
  end(record: RequestRecord, status: number | null): void {
    record.status = status;
    record.endMs = this.#nowMs();
    if (record.error.length > LONGEST_ERROR) {
      record.error = `${record.error.slice(0, LONGEST_ERROR)}…`;
    }
    for (const hook of this.#ended) hook(record);
  }
}

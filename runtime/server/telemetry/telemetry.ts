/** What is told of requests beyond what is counted: the access log, decisions, and traces. */
import type { MetricLine } from "../../base/exposition.ts";
import { accessLine } from "./access-log.ts";
import type { LineSink } from "./line-sink.ts";
import type { Sampling } from "./otlp/sampling.ts";
import { RequestRecord, type SeenRequest } from "./request-record.ts";
import { randomHex } from "./trace-context.ts";

/** Takes spans of requests; none where traces are off. */
export interface TraceSink {
  readonly sampling: Sampling;
  take(record: RequestRecord): void;
  lines(): MetricLine[];
}

/** Takes what is to be told of decisions; none where they are not logged. */
export interface DecisionSink {
  take(record: RequestRecord): void;
  lines(): MetricLine[];
}

export interface TelemetryOptions {
  readonly accessLog?: Pick<LineSink, "write"> | undefined;
  readonly traces?: TraceSink | undefined;
  readonly decisions?: DecisionSink | undefined;
  readonly nowMs: () => number;
  readonly epochOffsetMs: number;
}

/** Reasons that a log repeats are cut here. */
const LONGEST_ERROR = 500;

/** There is none where nothing of it is asked for, and nothing is noted then. */
export class Telemetry {
  readonly #options: TelemetryOptions;

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  /** Undefined where no traces are sent. */
  get sampling(): Sampling | undefined {
    return this.#options.traces?.sampling;
  }

  /** A request has come. */
  begin(seen: SeenRequest): RequestRecord {
    const { traces, nowMs } = this.#options;
    const { parent } = seen;
    const traceId = parent?.traceId ?? randomHex(16);
    const spanId = randomHex(8);
    const isSampled = traces?.sampling.sample(traceId, parent) ?? parent?.isSampled === true;
    return new RequestRecord(seen, { traceId, spanId, isSampled, arrivalMs: nowMs() });
  }

  /** The request is over. @param status null where its client was gone before the answer. */
  end(record: RequestRecord, status: number | null): void {
    const { accessLog, decisions, traces, nowMs, epochOffsetMs } = this.#options;
    record.status = status;
    record.endMs = nowMs();
    if (record.error.length > LONGEST_ERROR) {
      record.error = `${record.error.slice(0, LONGEST_ERROR)}…`;
    }
    accessLog?.write(accessLine(record, epochOffsetMs));
    if (record.isSampled) traces?.take(record);
    if (record.model !== "") decisions?.take(record);
  }

  lines(): MetricLine[] {
    const { traces, decisions } = this.#options;
    return [...(traces?.lines() ?? []), ...(decisions?.lines() ?? [])];
  }
}

/** Gathers traced requests and sends their spans in messages of bounded size. */
import type { MetricLine } from "../../../base/exposition.ts";
import { logRecordLines } from "../../../base/metric-families.ts";
import type { RequestRecord } from "../../../server/requests/request-record.ts";
import type { TraceSink } from "../telemetry.ts";
import type { OtlpClient } from "./otlp-client.ts";
import { spansOf } from "./request-spans.ts";
import type { Sampling } from "./sampling.ts";

interface TraceExporterOptions {
  readonly client: Pick<OtlpClient, "send">;
  readonly url: string;
  readonly sampling: Sampling;
  readonly resource: object;
  readonly scope: object;
  readonly epochOffsetMs: () => number;
  readonly scheduleDelayMs: number;
  readonly maxQueued: number;
  readonly maxBatch: number;
  /** Called with the reason of a failure, once until a message succeeds again. */
  readonly onFailed: (reason: string) => void;
}

/** Requests encoded in one turn of the event loop: less than a millisecond. */
const REQUESTS_PER_TURN = 32;

export class TraceExporter implements TraceSink {
  readonly sampling: Sampling;
  readonly #options: TraceExporterOptions;
  #queue: RequestRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #exported = 0;
  #dropped = 0;
  #isFailing = false;

  constructor(options: TraceExporterOptions) {
    this.#options = options;
    this.sampling = options.sampling;
  }

  take(record: RequestRecord): void {
    const { maxQueued, maxBatch, scheduleDelayMs } = this.#options;
    if (this.#queue.length >= maxQueued) {
      this.#dropped++;
      return;
    }
    this.#queue.push(record);
    if (this.#queue.length >= maxBatch) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), scheduleDelayMs).unref();
  }

  /** Sends the queue; resolves once it was accepted or given up. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  lines(): MetricLine[] {
    return logRecordLines("traces", [
      ["taken", this.#exported],
      ["lost", this.#dropped],
    ]);
  }

  async #sendAll(): Promise<void> {
    const { maxBatch, client, url } = this.#options;
    while (this.#queue.length > 0) {
      const records = this.#queue.splice(0, maxBatch);
      const reason = await client.send(url, await this.#messageOf(records));
      if (reason === null) this.#exported += records.length;
      else this.#dropped += records.length;
      this.#reportOutcome(reason);
    }
  }

  /** Encodes in several turns of the event loop, so that requests are not delayed. */
  async #messageOf(records: readonly RequestRecord[]): Promise<Buffer> {
    const { resource, scope } = this.#options;
    const epochOffsetMs = this.#options.epochOffsetMs();
    const texts: string[] = [];
    for (let first = 0; first < records.length; first += REQUESTS_PER_TURN) {
      const some = records.slice(first, first + REQUESTS_PER_TURN);
      const spans = some.flatMap((record) => spansOf(record, epochOffsetMs));
      texts.push(JSON.stringify(spans).slice(1, -1));
      await new Promise(setImmediate);
    }
    const start = `{"resourceSpans":[{"resource":${JSON.stringify(resource)}`;
    const scoped = `"scopeSpans":[{"scope":${JSON.stringify(scope)}`;
    return Buffer.from(`${start},${scoped},"spans":[${texts.join(",")}]}]}]}`);
  }

  #reportOutcome(reason: string | null): void {
    if (reason !== null && !this.#isFailing) this.#options.onFailed(reason);
    this.#isFailing = reason !== null;
  }
}
